//! Exceptions.

use core::arch::{asm, global_asm};

use crate::{cpus, exit, println};

global_asm!(include_str!("exceptions.s"));

/// What `exceptions.s` leaves on the stack.
#[repr(C)]
pub struct Context {
    /// From x0 to x30.
    pub general: [u64; 31],
    pub elr: u64,
    pub spsr: u64,
    pub esr: u64,
}

#[unsafe(no_mangle)]
extern "C" fn exception(context: &mut Context, is_fiq: bool) {
    if is_fiq {
        cpus::acknowledge();
        return;
    }
    println!("exception, ESR_EL1 {:#x}, at {:#x}", context.esr, context.elr);
    // A breakpoint goes on behind its instruction.
    match context.esr >> 26 {
        0x3c => context.elr += 4,
        _ => exit(),
    }
}

/// Makes this processor go to `exceptions.s`.
pub fn install() {
    unsafe extern "C" {
        static vectors: u8;
    }
    // SAFETY: a table of vectors, which is never moved.
    unsafe { asm!("msr vbar_el1, {}", "isb", in(reg) &raw const vectors, options(nostack)) };
}
