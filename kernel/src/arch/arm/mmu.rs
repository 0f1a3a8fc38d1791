//! Paging. Manual: B3.6 "Long-descriptor translation table format"; 4 KiB pages, 32-bit addresses, three levels, the first of which has four
//! entries.

use core::arch::asm;

use aarch32_cpu::asm::isb;
use portable::BootMemory;
use unwind::Range;

use super::cpu;
use crate::arch::arms::pages::{self, ASID, BLOCK, Entry, of_kernel, of_user};
use crate::page_table::{Table, map_image};

pub use crate::arch::arms::pages::MAIR;

/// Virtual minus physical address of everything.
pub const HIGH: u64 = 0;

/// TTBCR for all tables: the long format (EAE), all of the address space by TTBR0 (T0SZ, EPD1), tables in write-back, inner shareable
/// memory (IRGN0, ORGN0, SH0).
pub const BOOT_TTBCR: u32 = 1 << 31 | 1 << 23 | 0x3500;

static LEVEL1: Table = Table::new();
/// That of user programs and devices, in the first gigabyte, and that of the image, in the second one.
static LEVEL2: [Table; 2] = [const { Table::new() }; 2];
/// That of a user program.
static USER: Table = Table::new();

/// Blocks with the devices of QEMU's `virt`, which are at 128 to 256 MiB.
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
    let table = |to: &Table| to.address() | Entry::TABLE.bits();
    let [low, image] = &LEVEL2;
    LEVEL1.set(0, table(low));
    LEVEL1.set(1, table(image));
    for block in DEVICES {
        let address = block as u64 * BLOCK;
        low.set(block, address | Entry::DEVICES.bits());
    }
    for (index, level3) in pages::IMAGE.iter().enumerate() {
        image.set(index, table(level3));
    }
    map_image(&pages::IMAGE, IMAGE, guards, |page, access| {
        page | of_kernel(access, Entry::empty()).bits()
    });
    cpu::publish();
    switch();
}

/// Maps pages for user code, all in the same 2 MiB below the devices: their virtual address, the image's page that is mapped there, and
/// whether it is to be written, not executed.
pub fn map_user(pages: [(u64, u64, bool); 2]) {
    for (page, of_image, is_data) in pages {
        let entry = of_image | of_user(is_data).bits();
        USER.set((page >> 12) as usize % 512, entry);
        let table = USER.address() | Entry::TABLE.bits();
        LEVEL2[0].set((page >> 21) as usize % 512, table);
    }
    cpu::publish();
    cpu::flush_translations();
}

/// Unmaps the page of the image at this address.
///
/// # Safety
/// The page is not used any more.
pub unsafe fn unmap(page: u64) {
    pages::unmap(IMAGE, page);
}

/// Does nothing: `postmortem::print` asks the MMU.
pub const fn tell_report() {}

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
    cpu::flush_translations();
}
