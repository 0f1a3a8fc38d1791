//! Exceptions.

use core::arch::{asm, global_asm};

use crate::{exit, println};

global_asm!(include_str!("exceptions.s"), options(raw));

/// What `exceptions.s` leaves on the stack.
#[repr(C)]
pub struct Context {
    /// From r0 to r12.
    pub general: [u32; 13],
    pub lr: u32,
    pub pc: u32,
    pub spsr: u32,
}

#[unsafe(no_mangle)]
extern "C" fn exception(context: &mut Context, number: u32) {
    println!("exception {number} at {:#x}", context.pc);
    // An undefined instruction is passed over.
    match number {
        1 => context.pc += 4,
        _ => exit(),
    }
}

/// Makes the processor go to `exceptions.s`.
pub fn install() {
    unsafe extern "C" {
        static vectors: u8;
    }
    // SAFETY: a table of vectors, which is never moved.
    unsafe { asm!("mcr p15, 0, {}, c12, c0, 0", "isb", in(reg) &raw const vectors, options(nostack)) };
}
