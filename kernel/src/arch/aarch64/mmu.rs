//! Paging. Manual: D8 "The AArch64 Virtual Memory System Architecture"; 4 KiB pages, 48-bit addresses, four levels.

use core::arch::asm;

use aarch64_cpu::asm::barrier;
use aarch64_cpu::registers::{
    PAR_EL1, ReadWriteable, Readable, TCR_EL1, TTBR0_EL1, TTBR1_EL1, Writeable,
};
use portable::BootMemory;
use spin::Once;
use unwind::Range;

use crate::arch::arms::pages::{self, ASID, BLOCK, Entry, of_kernel, of_user};
use crate::page_table::{PAGE, Table, map_image};

pub use crate::arch::arms::pages::MAIR;

/// Virtual minus physical address of devices, and of the image where the linker script has it.
pub const HIGH: u64 = 0xffff_0000_0000_0000;

/// TCR_EL1 for the boot tables: 48-bit addresses in both halves (T0SZ, T1SZ), tables in write-back, inner shareable memory
/// (IRGN, ORGN, SH), 4 KiB pages (TG0, TG1), the ASID in TTBR1_EL1 (A1), 40-bit physical addresses (IPS), which all supported
/// cores have.
pub const BOOT_TCR: u64 = 16 | 0x3500 | ((16 | 0x3500) << 16) | (1 << 22) | (2 << 30) | (2 << 32);

static LEVEL0: Table = Table::new();
static LEVEL1: Table = Table::new();
static LEVEL2: Table = Table::new();

/// The gigabytes with a board's devices, counted from zero: 0, on a Raspberry Pi 4 also 3, on a 5 also 65. RAM in them is mapped too, but
/// only what the firmware shares is accessed: the words of a spin table, and pixels.
const DEVICES: [usize; 3] = [0, 3, 65];

/// The start of the second gigabyte, where the image is mapped, without [`HIGH`].
const IMAGE: u64 = 0x4000_0000;

/// The physical address of a block of devices in the second gigabyte, on boards that have one. It is mapped at [`BEHIND_IMAGE`].
static DEVICES_BEHIND: Once<u64> = Once::new();

/// The last block of the gigabyte where the image is mapped.
const BEHIND_IMAGE: u64 = HIGH + 0x8000_0000 - BLOCK;

/// Where boot.s maps the device tree: the block of 2 MiB with its first byte, and the next block.
const TREE: u64 = HIGH + 0x8000_0000;

/// Bits of a physical address in PAR_EL1 (D19.2.115 "PAR_EL1").
const PAR_ADDRESS: u64 = 0xffff_ffff_f000;

/// The virtual address at which the boot tables map `length` bytes of RAM from the physical address `start` on; none if
/// they do not.
pub fn boot_address(start: u64, length: u64) -> Option<u64> {
    let block = physical(TREE);
    let end = start.checked_add(length)?;
    let is_mapped = start >= block && end <= block.checked_add(2 * BLOCK)?;
    is_mapped.then(|| start - block + TREE)
}

/// The virtual address at which [`protect`] maps the device at this physical address, once for the whole run if that is in the second
/// gigabyte. Called before `protect`, and after it.
pub fn device_address(physical: u64) -> u64 {
    if physical >> 30 != IMAGE >> 30 {
        return physical + HIGH;
    }
    let block = *DEVICES_BEHIND.call_once(|| physical & !(BLOCK - 1));
    physical - block + BEHIND_IMAGE
}

/// How much higher the image was loaded than the linker script has it, modulo 2^64.
pub fn image_offset() -> u64 {
    let page = crate::image::code().address;
    physical(page).wrapping_sub(page - HIGH)
}

/// The physical address of the page at a virtual address, which is mapped.
fn physical(page: u64) -> u64 {
    // SAFETY: translates the address as a read would, without the read; changes only PAR_EL1.
    unsafe { asm!("at s1e1r, {}", in(reg) page, options(nostack, preserves_flags)) };
    barrier::isb(barrier::SY);
    PAR_EL1.get() & PAR_ADDRESS
}

/// The physical address of what is at a virtual address, which is mapped.
pub fn physical_address(of: u64) -> u64 {
    physical(of) | (of % PAGE)
}

/// Replaces the boot tables: the image, code read-only, data not executable, `guards` unmapped, and the devices;
/// nothing in the lower half, so that a null pointer faults.
pub fn protect(_: BootMemory, guards: impl Iterator<Item = Range>) {
    let offset = image_offset();
    let address = |of: u64| (of - HIGH).wrapping_add(offset);
    let entry = |to: &Table| address(to.address()) | Entry::TABLE.bits();
    LEVEL0.set(0, entry(&LEVEL1));
    for gigabyte in DEVICES {
        LEVEL1.set(gigabyte, (gigabyte as u64) << 30 | Entry::DEVICES.bits());
    }
    LEVEL1.set(1, entry(&LEVEL2));
    for (index, level3) in pages::IMAGE.iter().enumerate() {
        LEVEL2.set(index, entry(level3));
    }
    if let Some(block) = DEVICES_BEHIND.get() {
        LEVEL2.set(511, block | Entry::DEVICES.bits());
    }
    map_image(&pages::IMAGE, HIGH + IMAGE, guards, |page, access| {
        address(page) | of_kernel(access, Entry::NO_CODE).bits()
    });

    barrier::dsb(barrier::ISHST);
    switch();
}

/// Maps pages for user code, all in the same 2 MiB of the lower half: their virtual address, the image's page that is mapped there,
/// and whether it is to be written, not executed.
pub fn map_user(pages: [(u64, u64, bool); 2]) {
    static TABLES: [Table; 4] = [const { Table::new() }; 4];
    let [level0, level1, level2, level3] = &TABLES;
    let entry = |page: u64, flags: Entry| physical(page) | flags.bits();
    let table = |to: &Table| entry(to.address(), Entry::TABLE);
    for (page, of_image, is_data) in pages {
        let entry = entry(of_image, of_user(is_data));
        level3.set((page >> 12) as usize % 512, entry);
        level2.set((page >> 21) as usize % 512, table(level3));
    }
    level1.set(0, table(level2));
    level0.set(0, table(level1));
    barrier::dsb(barrier::ISHST);
    TTBR0_EL1.set(physical(level0.address()));
    TCR_EL1.modify(TCR_EL1::EPD0::EnableTTBR0Walks);
    barrier::isb(barrier::SY);
    super::cpu::flush_translations();
}

/// Unmaps the page of the image at this address.
///
/// # Safety
/// The page is not used any more.
pub unsafe fn unmap(page: u64) {
    pages::unmap(HIGH + IMAGE, page);
}

/// Does nothing: `postmortem::print` asks the MMU.
pub const fn tell_report() {}

/// Makes this CPU use the tables that [`protect`] filled.
pub fn switch() {
    // The new tables map the whole image, which is all that the program refers to, and the devices, at the same addresses. What
    // they no longer map has no references to it: guard pages, low memory, the rest of RAM.
    TTBR1_EL1.set(physical(LEVEL0.address()) | (u64::from(ASID) << 48));
    TCR_EL1.modify(TCR_EL1::EPD0::DisableTTBR0Walks);
    barrier::isb(barrier::SY);
    super::cpu::flush_translations();
}
