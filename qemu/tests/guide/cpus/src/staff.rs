//! What the other processors do.

use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};

static SWEEPS: AtomicBool = AtomicBool::new(false);
static GUARDS: AtomicBool = AtomicBool::new(false);
static FINDS: AtomicBool = AtomicBool::new(false);

/// Whether all have begun.
pub fn all_work() -> bool {
    [&SWEEPS, &GUARDS, &FINDS].iter().all(|works| works.load(Ordering::Acquire))
}

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
    // SAFETY: tells it, and waits for interrupts.
    unsafe { asm!("mov byte ptr [{}], 1", "2: sti", "hlt", "jmp 2b", in(reg) SWEEPS.as_ptr(), options(noreturn)) }
}

/// Waits for the key, with interrupts masked.
#[inline(never)]
fn guard() -> ! {
    // SAFETY: tells it, and does nothing, again and again.
    unsafe { asm!("mov byte ptr [{}], 1", "2: pause", "jmp 2b", in(reg) GUARDS.as_ptr(), options(noreturn)) }
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
    // SAFETY: tells it, and does nothing, again and again.
    unsafe { asm!("mov byte ptr [{}], 1", "2: pause", "jmp 2b", in(reg) FINDS.as_ptr()) };
}
