//! The timer of each processor: a tick a hundred times a second.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::arch::interrupts::TIMER;
use crate::arch::timer;
use crate::cpus::{self, MOST};
use crate::interrupt::{self, Masked};

/// Ticks in a second.
pub const TICKS_PER_SECOND: u64 = 100;

/// Ticks of the first processor since its timer was started.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Whose timers are started.
static IS_STARTED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// Starts the timer of this processor, unless it is.
pub fn start() {
    let _masked = Masked::new();
    if !IS_STARTED[cpus::this()].swap(true, Ordering::Relaxed) {
        timer::start(TICKS_PER_SECOND);
    }
}

/// How many ticks there were so far.
pub fn now() -> u64 {
    TICKS.load(Ordering::Relaxed)
}

/// Calls `handler` at every tick from now on. The first one set stays.
pub fn handle_with(handler: interrupt::Handler) {
    interrupt::handle_with(TIMER, handler);
}

/// Called at every interrupt of a timer, on its CPU.
pub fn tick() {
    timer::again(TICKS_PER_SECOND);
    if cpus::this() == 0 {
        TICKS.fetch_add(1, Ordering::Relaxed);
    }
}
