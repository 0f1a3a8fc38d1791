//! Exceptions.

use core::arch::{asm, global_asm};

use crate::{exit, println};

global_asm!(include_str!("exceptions.s"));

/// What `exceptions.s` leaves on the stack.
#[repr(C)]
pub struct Registers {
    /// From r15 to rax.
    pub general: [u64; 15],
    pub vector: u64,
    pub code: u64,
    pub rip: u64,
    pub cs: u64,
    pub rflags: u64,
    pub rsp: u64,
    pub ss: u64,
}

#[unsafe(no_mangle)]
extern "C" fn exception(registers: &Registers) -> ! {
    println!("exception {} at {:#x}", registers.vector, registers.rip);
    exit()
}

static mut TABLE: [[u64; 2]; 15] = [[0; 2]; 15];

/// Makes the processor go to `exceptions.s`.
pub fn install() {
    unsafe extern "C" {
        fn entry_3();
        fn entry_6();
        fn entry_14();
    }
    let entries: [(usize, unsafe extern "C" fn()); 3] = [(3, entry_3), (6, entry_6), (14, entry_14)];
    for (vector, entry) in entries {
        let address = entry as usize as u64;
        let low = address & 0xffff | 8 << 16 | 0x8e << 40 | (address >> 16 & 0xffff) << 48;
        // SAFETY: one processor, and no exception yet.
        unsafe { (&raw mut TABLE[vector]).write([low, address >> 32]) };
    }
    let pointer: [u16; 5] = {
        let base = (&raw const TABLE) as u64;
        [size_of::<[[u64; 2]; 15]>() as u16 - 1, base as u16, (base >> 16) as u16, (base >> 32) as u16, 0]
    };
    // SAFETY: a table of gates, which is never moved.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack)) };
}
