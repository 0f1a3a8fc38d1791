//! Paging. Manual: volume 3, chapter 5 "Paging", 4-level.

use portable::BootMemory;
use unwind::Range;
use x86_64::instructions::tlb;
use x86_64::registers::control::{Cr3, Cr3Flags};
use x86_64::structures::paging::{PageTableFlags, PhysFrame};
use x86_64::{PhysAddr, VirtAddr};

use crate::image::Access;
use crate::page_table::{self, Table, map_image};

/// Virtual minus physical address of everything in the image.
pub const HIGH: u64 = 0xffff_ffff_8000_0000;

static LEVEL4: Table = Table::new();
static LEVEL3: Table = Table::new();
static LEVEL2: Table = Table::new();
/// The last gigabyte of addresses, where the devices right below 4 GiB are.
static LEVEL2_DEVICES: Table = Table::new();
/// Pages of the first 16 MiB.
static LEVEL1: [Table; 8] = [const { Table::new() }; 8];

/// The virtual address at which the boot tables map `length` bytes from the physical address `start` on, RAM or not; none if
/// they do not.
pub fn boot_address(start: u64, length: u64) -> Option<u64> {
    const MAPPED: u64 = 1 << 30;
    (start.checked_add(length)? <= MAPPED).then(|| start + HIGH)
}

/// Physical addresses of the interrupt controllers: of devices (I/O APIC), of CPUs (local APIC).
const DEVICES: [u64; 2] = [0xfec0_0000, 0xfee0_0000];

/// The virtual address of a device's register, `physical` being within 2 MiB from one of [`DEVICES`].
pub const fn device(physical: u64) -> u64 {
    physical | 0xffff_ffff_0000_0000
}

/// The physical address of a part of the image.
pub const fn physical_address(of: u64) -> u64 {
    of - HIGH
}

/// Replaces the boot tables: the image only, code read-only, data not executable, `guards` unmapped, the
/// interrupt controllers, and nothing at low addresses, so that a null pointer faults.
pub fn protect(_: BootMemory, guards: impl Iterator<Item = Range>) {
    let table = PageTableFlags::PRESENT | PageTableFlags::WRITABLE;
    let entry = |table: &Table, flags: PageTableFlags| (table.address() - HIGH) | flags.bits();
    LEVEL4.set(511, entry(&LEVEL3, table));
    LEVEL3.set(510, entry(&LEVEL2, table));
    for (index, level1) in LEVEL1.iter().enumerate() {
        LEVEL2.set(index, entry(level1, table));
    }
    LEVEL3.set(511, entry(&LEVEL2_DEVICES, table));
    let page = PageTableFlags::PRESENT
        | PageTableFlags::WRITABLE
        | PageTableFlags::HUGE_PAGE
        | PageTableFlags::NO_CACHE
        | PageTableFlags::WRITE_THROUGH
        | PageTableFlags::NO_EXECUTE;
    for physical in DEVICES {
        let index = (device(physical) >> 21) % 512;
        LEVEL2_DEVICES.set(index as usize, physical | page.bits());
    }
    map_image(&LEVEL1, HIGH, guards, |page, access| {
        (page - HIGH) | flags(access).bits()
    });

    switch();
}

/// Maps pages for user code, all in the same 2 MiB of low addresses: their virtual address, the image's page that is mapped there,
/// and whether it is to be written, not executed.
pub fn map_user(pages: [(u64, u64, bool); 2]) {
    static TABLES: [Table; 3] = [const { Table::new() }; 3];
    let table =
        PageTableFlags::PRESENT | PageTableFlags::WRITABLE | PageTableFlags::USER_ACCESSIBLE;
    let [level3, level2, level1] = &TABLES;
    let entry = |page: u64, flags: PageTableFlags| (page - HIGH) | flags.bits();
    for (page, of_image, is_data) in pages {
        let flags = match is_data {
            true => flags(Access::Write),
            false => flags(Access::Execute),
        };
        let flags = flags | PageTableFlags::USER_ACCESSIBLE;
        level1.set((page >> 12) as usize % 512, entry(of_image, flags));
        level2.set((page >> 21) as usize % 512, entry(level1.address(), table));
    }
    level3.set(0, entry(level2.address(), table));
    LEVEL4.set(0, entry(level3.address(), table));
}

/// Unmaps the page of the image at this address, for this CPU.
///
/// # Safety
/// The page is not used any more.
pub unsafe fn unmap(page: u64) {
    page_table::unmap(&LEVEL1, HIGH, page);
    tlb::flush(VirtAddr::new(page));
}

/// Tells `postmortem::print` where page tables are.
pub fn tell_report() {
    // SAFETY: they are in the image, which is mapped there, and map nothing but that and devices, which are not cached.
    unsafe { postmortem::physical_memory_at(HIGH) };
}

/// Makes this CPU use the tables that [`protect`] filled.
pub fn switch() {
    let root = PhysFrame::containing_address(PhysAddr::new(LEVEL4.address() - HIGH));
    // SAFETY: the new tables map the whole image, which is all that the program refers to, at the same addresses. What they no
    // longer map has no references to it: guard pages and low memory.
    unsafe { Cr3::write(root, Cr3Flags::empty()) };
}

fn flags(access: Access) -> PageTableFlags {
    PageTableFlags::PRESENT
        | match access {
            Access::Execute => PageTableFlags::empty(),
            Access::Read => PageTableFlags::NO_EXECUTE,
            Access::Write => PageTableFlags::NO_EXECUTE | PageTableFlags::WRITABLE,
        }
}
