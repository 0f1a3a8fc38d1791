//! The timers of the CPUs: a hundred ticks a second.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::arch::interrupts::TIMER;
use crate::arch::timer;
use crate::cpus::{self, MAX_CPUS};
use crate::interrupt::{self, Masked};

/// Ticks in a second.
pub const TICKS_PER_SECOND: u64 = 100;

/// The time in ticks, as each CPU has counted it since its timer was started. None is needed for the time to go on: a CPU may
/// have masked interrupts, or its timer may not be started.
static TICKS: [AtomicU64; MAX_CPUS] = [const { AtomicU64::new(0) }; MAX_CPUS];

/// Whether each CPU's timer is started.
static IS_STARTED: [AtomicBool; MAX_CPUS] = [const { AtomicBool::new(false) }; MAX_CPUS];

/// Starts this CPU's timer, if it is not started yet.
pub fn start() {
    let _masked = Masked::new();
    let this = cpus::this();
    if !IS_STARTED[this].swap(true, Ordering::Relaxed) {
        TICKS[this].store(now(), Ordering::Relaxed);
        timer::start(TICKS_PER_SECOND);
    }
}

/// How many ticks there were so far: the time of the CPU that has counted most.
pub fn now() -> u64 {
    let ticks = TICKS.iter().map(|ticks| ticks.load(Ordering::Relaxed));
    ticks.max().unwrap_or(0)
}

/// Calls `handler` at every tick from now on. Later calls change nothing.
pub fn handle_with(handler: interrupt::Handler) {
    interrupt::handle_with(TIMER, handler);
}

/// Called at every timer interrupt, on the timer's CPU.
pub fn tick() {
    timer::rearm(TICKS_PER_SECOND);
    TICKS[cpus::this()].fetch_add(1, Ordering::Relaxed);
}
