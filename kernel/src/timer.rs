//! The timers of the CPUs: a hundred ticks a second.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::arch::interrupts::TIMER;
use crate::arch::timer;
use crate::cpus::{self, MAX_CPUS};
use crate::interrupt::{self, Masked};

/// Ticks in a second.
pub const TICKS_PER_SECOND: u64 = 100;

/// Ticks of CPU 0 since its timer was started.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Whether each CPU's timer is started.
static IS_STARTED: [AtomicBool; MAX_CPUS] = [const { AtomicBool::new(false) }; MAX_CPUS];

/// Starts this CPU's timer, if it is not started yet.
pub fn start() {
    let _masked = Masked::new();
    if !IS_STARTED[cpus::this()].swap(true, Ordering::Relaxed) {
        timer::start(TICKS_PER_SECOND);
    }
}

/// How many ticks CPU 0 has had so far.
pub fn now() -> u64 {
    TICKS.load(Ordering::Relaxed)
}

/// Calls `handler` at every tick from now on. Later calls change nothing.
pub fn handle_with(handler: interrupt::Handler) {
    interrupt::handle_with(TIMER, handler);
}

/// Called at every timer interrupt, on the timer's CPU.
pub fn tick() {
    timer::rearm(TICKS_PER_SECOND);
    if cpus::this() == 0 {
        TICKS.fetch_add(1, Ordering::Relaxed);
    }
}
