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
pub fn work(number: usize) -> ! {
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
    unsafe { asm!("strb {1:w}, [{0}]", "2: wfi", "b 2b", in(reg) SWEEPS.as_ptr(), in(reg) 1, options(noreturn)) }
}

/// Waits for the key, with interrupts masked.
#[inline(never)]
fn guard() -> ! {
    // SAFETY: tells it, and does nothing, again and again.
    unsafe { asm!("msr daifset, #2", "strb {1:w}, [{0}]", "2: yield", "b 2b", in(reg) GUARDS.as_ptr(), in(reg) 1, options(noreturn)) }
}

/// Counts what is on the shelves.
#[inline(never)]
fn count() -> ! {
    loop {
        find();
    }
}

/// Looks for the next shelf.
#[inline(never)]
fn find() {
    // SAFETY: tells it, and does nothing, again and again.
    unsafe { asm!("strb {1:w}, [{0}]", "2: yield", "b 2b", in(reg) FINDS.as_ptr(), in(reg) 1) };
}
