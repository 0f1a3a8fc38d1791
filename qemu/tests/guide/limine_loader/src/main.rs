//! Starts a 64-bit kernel by the boot protocol of Limine, base revision 3, as its specification says it: the segments in pages of their
//! own rights, physical memory from `HHDM` on, nothing at low addresses. Of requests it answers that for `HHDM`.
#![no_std]
#![no_main]

mod serial;

use core::arch::global_asm;
use core::panic::PanicInfo;
use core::slice;

use elf::ElfBytes;
use elf::abi::{PF_W, PF_X, PT_LOAD};
use elf::endian::LittleEndian;

global_asm!(include_str!("boot.s"));

/// Where the kernel sees physical memory.
const HHDM: u64 = 0xffff_8000_0000_0000;
const PAGE: u64 = 4096;
/// Bits of an entry of page tables.
const PRESENT: u64 = 1;
const WRITABLE: u64 = 2;
const NO_EXECUTION: u64 = 1 << 63;

/// The words that begin a base revision, and the latest one that is known here.
const REVISION: [u64; 2] = [0xf956_2b2d_5c95_a6c8, 0x6a7b_3849_4453_6bdc];
const LATEST: u64 = 3;
/// The words that begin a request for `HHDM`.
const HHDM_REQUEST: [u64; 4] = [
    0xc7b1_dd30_df4c_8b88,
    0x0a82_e883_a194_f07b,
    0x48dc_f1cb_8ad2_b852,
    0x6398_4e95_9a98_244b,
];

unsafe extern "C" {
    /// The highest table of pages.
    static mut tables: [u64; 512];
    /// Jumps to the kernel.
    safe fn enter(entry: u64, offset: u64) -> !;
}

/// Physical memory that nobody uses, from this address on.
struct Memory(u64);

impl Memory {
    /// The address of so many bytes in whole pages, all zero.
    fn pages(&mut self, bytes: u64) -> u64 {
        let at = self.0;
        self.0 += bytes.next_multiple_of(PAGE);
        // SAFETY: it is behind all that was loaded, and mapped at its own address.
        unsafe { core::ptr::write_bytes(at as *mut u8, 0, (self.0 - at) as usize) };
        at
    }

    /// Maps a page, with these bits.
    fn map(&mut self, address: u64, physical: u64, bits: u64) {
        let mut table = &raw mut tables as *mut u64;
        for level in [39, 30, 21] {
            let entry = table.wrapping_add((address >> level & 511) as usize);
            // SAFETY: a table has 512 entries, and is mapped at its own address.
            unsafe {
                if *entry == 0 {
                    *entry = self.pages(PAGE) | PRESENT | WRITABLE;
                }
                table = (*entry & !(PAGE - 1)) as *mut u64;
            }
        }
        let entry = table.wrapping_add((address >> 12 & 511) as usize);
        // SAFETY: as above. Segments that share a page have the rights of both.
        unsafe {
            let before = *entry;
            let both = (before | bits) & !NO_EXECUTION | before & bits & NO_EXECUTION;
            *entry = physical | if before == 0 { bits } else { both };
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn load(information: *const u32) -> ! {
    // SAFETY: the Multiboot information has the number of modules at 20 and their address at 24; the first begins with where it
    // begins and ends.
    let [start, end] = unsafe {
        assert_eq!(*information.add(5), 1, "one module: the kernel");
        *(*information.add(6) as *const [u32; 2])
    };
    let length = (end - start) as usize;
    // SAFETY: that is the module.
    let file = unsafe { slice::from_raw_parts(start as *const u8, length) };
    let mut memory = Memory(u64::from(end).next_multiple_of(PAGE));
    let file = ElfBytes::<LittleEndian>::minimal_parse(file).expect("ELF");
    let segments = || {
        let segments = file.segments().expect("segments").iter();
        segments.filter(|it| it.p_type == PT_LOAD && it.p_memsz != 0)
    };
    let first = segments().map(|it| it.p_vaddr).min().expect("a segment") & !(PAGE - 1);
    let end = segments().map(|it| it.p_vaddr + it.p_memsz).max();
    let size = end.expect("a segment") - first;
    let image = memory.pages(size);
    for segment in segments() {
        let to = image + (segment.p_vaddr - first);
        let bytes = file.segment_data(&segment).expect("it is in the file");
        // SAFETY: the pages are for all segments.
        unsafe { core::ptr::copy(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        let mut bits = PRESENT;
        if segment.p_flags & PF_W != 0 {
            bits |= WRITABLE;
        }
        if segment.p_flags & PF_X == 0 {
            bits |= NO_EXECUTION;
        }
        let pages = segment.p_vaddr & !(PAGE - 1)..segment.p_vaddr + segment.p_memsz;
        for page in pages.step_by(PAGE as usize) {
            memory.map(page, image + (page - first), bits);
        }
    }
    // SAFETY: that is the image, which is not entered yet.
    let words = unsafe { slice::from_raw_parts_mut(image as *mut u64, (size / 8) as usize) };
    answer(words, &mut memory);
    enter(file.ehdr.e_entry, HHDM)
}

/// Answers the requests in an image.
fn answer(words: &mut [u64], memory: &mut Memory) {
    for at in 0..words.len() {
        match &mut words[at..] {
            [a, b, revision, ..] if [*a, *b] == REVISION => {
                // The one that is used, and whether the kernel's is supported.
                *b = (*revision).min(LATEST);
                if *revision <= LATEST {
                    *revision = 0;
                }
            }
            [a, b, c, d, _, response, ..] if [*a, *b, *c, *d] == HHDM_REQUEST => {
                let to = memory.pages(16);
                // SAFETY: these pages were taken just now. The revision is 0.
                unsafe { (to as *mut [u64; 2]).write([0, HHDM]) };
                *response = HHDM + to;
            }
            _ => (),
        }
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("the kernel cannot be loaded: {info}");
    serial::out(0xf4, 0);
    loop {
        core::hint::spin_loop();
    }
}
