//! What the other processors do.

use core::arch::asm;

/// Each has its work.
pub fn work(number: u32) -> ! {
    match number {
        1 => sweep(),
        2 => guard(),
        _ => count(),
    }
}

/// Waits for a customer who leaves dirt.
#[inline(never)]
fn sweep() -> ! {
    loop {
        // SAFETY: waits for an interrupt.
        unsafe { asm!("sti", "hlt") };
    }
}

/// Waits for the key, with interrupts masked.
#[inline(never)]
fn guard() -> ! {
    loop {
        // SAFETY: does nothing, again and again.
        unsafe { asm!("2: pause", "jmp 2b") };
    }
}

/// Is interrupted for ever.
#[inline(never)]
fn count() -> ! {
    loop {
        // SAFETY: its handler does nothing to this.
        unsafe { asm!("int 4") };
    }
}

/// Looks for the place where he was.
#[inline(never)]
pub fn find() {
    // SAFETY: does nothing, again and again.
    unsafe { asm!("2: pause", "jmp 2b") };
}
