//! Paging. Manual: B3.6 "Long-descriptor translation table format"; 4 KiB pages, 32-bit addresses, three levels, the first of which has four
//! entries.

use core::arch::asm;

use aarch32_cpu::asm::{dsb, isb};
use bitflags::bitflags;
use portable::BootMemory;
use unwind::Range;

use crate::image::Access;
use crate::page_table::{self, Table, map_image};

/// Virtual minus physical address of everything.
pub const HIGH: u64 = 0;

/// Memory types for MAIR0: 0 device; 1 normal, write-back.
pub const MAIR: u32 = 0xff04;

/// TTBCR for all tables: the long format (EAE), all of the address space by TTBR0 (T0SZ, EPD1), tables in write-back, inner shareable
/// memory (IRGN0, ORGN0, SH0).
pub const BOOT_TTBCR: u32 = 1 << 31 | 1 << 23 | 0x3500;

/// The ASID of the tables here; those of boot.s have 0.
const ASID: u32 = 1;

bitflags! {
    /// Attributes of a table entry (B3.6.1 "Long-descriptor translation table format descriptors").
    struct Entry: u64 {
        const VALID = 1;
        /// A table, or a page at the last level; without it a block.
        const TABLE_OR_PAGE = 1 << 1;
        /// Memory type 1.
        const NORMAL = 1 << 2;
        const READ_ONLY = 1 << 7;
        const INNER_SHAREABLE = 3 << 8;
        const ACCESSED = 1 << 10;
        const NOT_GLOBAL = 1 << 11;
        const NO_KERNEL_CODE = 1 << 53;
        const NO_CODE = 1 << 54;
    }
}

static LEVEL1: Table = Table::new();
/// That of devices, in the first gigabyte, and that of the image, in the second one.
static LEVEL2: [Table; 2] = [const { Table::new() }; 2];
/// Pages of the first 16 MiB from [`IMAGE`] on.
static LEVEL3: [Table; 8] = [const { Table::new() }; 8];

/// Blocks of 2 MiB with the devices of QEMU's `virt`, which are at 128 to 256 MiB.
const BLOCK: u64 = 2 << 20;
const DEVICES: core::ops::Range<usize> = 64..128;

/// The start of RAM, in which the image is.
const IMAGE: u64 = 0x4000_0000;

/// Where boot.s maps the device tree: RAM below the image.
const TREE: core::ops::Range<u64> = IMAGE..IMAGE + BLOCK;

/// The virtual address at which the boot tables map `length` bytes of RAM from the physical address `start` on; none if
/// they do not.
pub fn boot_address(start: u64, length: u64) -> Option<u64> {
    let end = start.checked_add(length)?;
    (start >= TREE.start && end <= TREE.end).then_some(start)
}

/// The physical address of what is at a virtual address, which is mapped.
pub const fn physical_address(of: u64) -> u64 {
    of
}

/// Replaces the boot tables: the image, code read-only, data not executable, `guards` unmapped, and the devices;
/// nothing in the lowest addresses, so that a null pointer faults.
pub fn protect(_: BootMemory, guards: impl Iterator<Item = Range>) {
    let table = (Entry::VALID | Entry::TABLE_OR_PAGE).bits();
    let [devices, image] = &LEVEL2;
    LEVEL1.set(0, devices.address() | table);
    LEVEL1.set(1, image.address() | table);
    let device =
        Entry::VALID | Entry::ACCESSED | Entry::NOT_GLOBAL | Entry::NO_KERNEL_CODE | Entry::NO_CODE;
    for block in DEVICES {
        devices.set(block, block as u64 * BLOCK | device.bits());
    }
    for (index, level3) in LEVEL3.iter().enumerate() {
        image.set(index, level3.address() | table);
    }
    map_image(&LEVEL3, IMAGE, guards, |page, access| {
        page | flags(access).bits()
    });
    dsb();
    switch();
}

/// Unmaps the page of the image at this address.
///
/// # Safety
/// The page is not used any more.
pub unsafe fn unmap(page: u64) {
    page_table::unmap(&LEVEL3, IMAGE, page);
    dsb();
    super::cpu::flush_translations();
}

/// Makes this CPU use the tables that [`protect`] filled.
pub fn switch() {
    // SAFETY: the new tables map the whole image, which is all that the program refers to, and the devices, at the same addresses. What
    // they no longer map has no references to it: guard pages, low memory, the rest of RAM. TTBR0 has 64 bits, the ASID in the upper ones.
    unsafe {
        asm!(
            "mcrr p15, 0, {low}, {high}, c2",
            low = in(reg) LEVEL1.address() as u32,
            high = in(reg) ASID << 16,
            options(nostack, preserves_flags)
        );
    }
    isb();
    super::cpu::flush_translations();
}

fn flags(access: Access) -> Entry {
    let page = Entry::VALID
        | Entry::TABLE_OR_PAGE
        | Entry::NORMAL
        | Entry::INNER_SHAREABLE
        | Entry::ACCESSED
        | Entry::NOT_GLOBAL;
    page | match access {
        Access::Execute => Entry::READ_ONLY,
        Access::Read => Entry::READ_ONLY | Entry::NO_CODE,
        Access::Write => Entry::NO_CODE,
    }
}
