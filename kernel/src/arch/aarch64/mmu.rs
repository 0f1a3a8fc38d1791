//! Paging. Manual: D8 "The AArch64 Virtual Memory System Architecture"; 4 KiB pages, 48-bit addresses, four levels.

use core::ops::Range;

use aarch64_cpu::asm::barrier;
use aarch64_cpu::registers::{ReadWriteable, TCR_EL1, TTBR1_EL1, Writeable};
use bitflags::bitflags;

use crate::boot_memory::BootMemory;
use crate::image::Access;
use crate::page_table::{self, Table, map_image};

/// Virtual minus physical address of everything the kernel maps.
pub const HIGH: u64 = 0xffff_0000_0000_0000;

/// Memory types for MAIR_EL1: 0 device, nGnRE; 1 normal, write-back.
pub const MAIR: u64 = 0xff04;

/// TCR_EL1 for the boot tables: 48-bit addresses in both halves (T0SZ, T1SZ), tables in write-back, inner shareable
/// memory (IRGN, ORGN, SH), 4 KiB pages (TG0, TG1), the ASID in TTBR1_EL1 (A1), 40-bit physical addresses (IPS), which
/// every core has that runs this kernel.
pub const BOOT_TCR: u64 = 16 | 0x3500 | ((16 | 0x3500) << 16) | (1 << 22) | (2 << 30) | (2 << 32);

/// The ASID of the tables here; those of boot.s have 0.
const ASID: u64 = 1;

bitflags! {
    /// Attributes of a table entry (D8.3 "Translation table descriptor formats").
    struct Entry: u64 {
        const VALID = 1;
        /// A table, or a page at the last level; without it a block.
        const TABLE_OR_PAGE = 1 << 1;
        /// Memory type 1.
        const NORMAL = 1 << 2;
        const READ_ONLY = 1 << 7;
        const INNER_SHAREABLE = 3 << 8;
        const ACCESSED = 1 << 10;
        const NO_KERNEL_CODE = 1 << 53;
        const NO_USER_CODE = 1 << 54;
    }
}

static LEVEL0: Table = Table::new();
static LEVEL1: Table = Table::new();
static LEVEL2: Table = Table::new();
/// Pages of the first 16 MiB of RAM.
static LEVEL3: [Table; 8] = [const { Table::new() }; 8];

/// Where the RAM of QEMU's `virt` begins, a physical address. One level 1 entry maps what is below, for devices.
const RAM: u64 = 0x4000_0000;

/// The RAM that the boot tables map, physical addresses.
pub const BOOT_RAM: Range<u64> = RAM..2 << 30;

/// Replaces the boot tables: the image, code read-only, data not executable, guard pages unmapped, and the devices;
/// nothing in the lower half, so that a null pointer faults.
pub fn protect(_: BootMemory) {
    let table = Entry::VALID | Entry::TABLE_OR_PAGE;
    let entry = |table: &Table, flags: &Entry| (table.address() - HIGH) | flags.bits();
    LEVEL0.set(0, entry(&LEVEL1, &table));
    let devices = Entry::VALID | Entry::ACCESSED | Entry::NO_KERNEL_CODE | Entry::NO_USER_CODE;
    LEVEL1.set(0, devices.bits());
    LEVEL1.set(1, entry(&LEVEL2, &table));
    for (index, level3) in LEVEL3.iter().enumerate() {
        LEVEL2.set(index, entry(level3, &table));
    }
    map_image(&LEVEL3, HIGH + RAM, |page, access| {
        (page - HIGH) | flags(access).bits()
    });

    barrier::dsb(barrier::ISHST);
    switch();
}

/// Takes a page of the image away, by its address.
///
/// # Safety
/// Nothing in the page is used any more.
pub unsafe fn unmap(page: u64) {
    page_table::unmap(&LEVEL3, HIGH + RAM, page);
    barrier::dsb(barrier::ISHST);
    super::cpu::flush_translations();
}

/// Makes this processor use the tables that [`protect`] filled.
pub fn switch() {
    // The new tables map the whole image, which is all that the program refers to, and the devices, at the same
    // addresses; what is taken away is what no reference points to: guard pages, low memory, the rest of RAM.
    TTBR1_EL1.set((LEVEL0.address() - HIGH) | (ASID << 48));
    TCR_EL1.modify(TCR_EL1::EPD0::DisableTTBR0Walks);
    barrier::isb(barrier::SY);
    super::cpu::flush_translations();
}

fn flags(access: Access) -> Entry {
    let page = Entry::VALID
        | Entry::TABLE_OR_PAGE
        | Entry::NORMAL
        | Entry::INNER_SHAREABLE
        | Entry::ACCESSED
        | Entry::NO_USER_CODE;
    page | match access {
        Access::Execute => Entry::READ_ONLY,
        Access::Read => Entry::READ_ONLY | Entry::NO_KERNEL_CODE,
        Access::Write => Entry::NO_KERNEL_CODE,
    }
}
