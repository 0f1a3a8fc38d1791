//! Page tables, whose last levels have the same format: 4 KiB pages, long descriptors. Manuals: "Arm Architecture Reference Manual for
//! A-profile architecture", D8.3 "Translation table descriptor formats"; "ARMv7-A and ARMv7-R edition", B3.6.1 "Long-descriptor translation
//! table format descriptors".

use bitflags::bitflags;

use crate::image::Access;
use crate::page_table::{self, Table};

/// Memory types, for the register MAIR: 0 device, nGnRE; 1 normal, write-back.
pub const MAIR: u32 = 0xff04;

/// The ASID of the kernel's own tables; those of boot.s have 0.
pub const ASID: u32 = 1;

bitflags! {
    /// Attributes of a table entry.
    #[derive(Clone, Copy)]
    pub struct Entry: u64 {
        const VALID = 1;
        /// A table, or a page at the last level; without it a block.
        const TABLE_OR_PAGE = 1 << 1;
        /// Memory type 1.
        const NORMAL = 1 << 2;
        const USER = 1 << 6;
        const READ_ONLY = 1 << 7;
        const INNER_SHAREABLE = 3 << 8;
        const ACCESSED = 1 << 10;
        const NO_KERNEL_CODE = 1 << 53;
        /// Of 64 bits, no code for user programs; of 32 bits, no code at all.
        const NO_CODE = 1 << 54;

        const TABLE = Self::VALID.bits() | Self::TABLE_OR_PAGE.bits();
        const DEVICES = Self::VALID.bits()
            | Self::ACCESSED.bits()
            | Self::NO_KERNEL_CODE.bits()
            | Self::NO_CODE.bits();
    }
}

/// Bytes of a block at the last level but one.
pub const BLOCK: u64 = 2 << 20;

/// Pages of the first 16 MiB of the image's gigabyte.
pub static IMAGE: [Table; 8] = [const { Table::new() }; 8];

/// Attributes of a page of the kernel's. Those of code are these too.
pub fn of_kernel(access: Access, of_code: Entry) -> Entry {
    let page = Entry::TABLE | Entry::NORMAL | Entry::INNER_SHAREABLE | Entry::ACCESSED;
    page | match access {
        Access::Execute => Entry::READ_ONLY | of_code,
        Access::Read => Entry::READ_ONLY | Entry::NO_KERNEL_CODE | Entry::NO_CODE,
        Access::Write => Entry::NO_KERNEL_CODE | Entry::NO_CODE,
    }
}

/// Attributes of a page of a user program's: its data, or its code.
pub fn of_user(is_data: bool) -> Entry {
    let page = match is_data {
        true => of_kernel(Access::Write, Entry::empty()),
        false => of_kernel(Access::Read, Entry::empty()).difference(Entry::NO_CODE),
    };
    page | Entry::USER
}

/// Unmaps a page of the image, whose gigabyte begins at the virtual address `base`.
pub fn unmap(base: u64, page: u64) {
    page_table::unmap(&IMAGE, base, page);
    crate::arch::cpu::publish();
    crate::arch::cpu::flush_translations();
}
