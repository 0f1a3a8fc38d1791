//! The timer of each processor: a tick a hundred times a second.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use postmortem::TrapFrame;
use spin::Once;

use crate::arch::timer;
use crate::cpus::{self, MOST};
use crate::interrupt::{self, Masked};
use crate::platform::POSTMORTEM;
use crate::{arch, task};

/// Ticks in a second.
pub const TICKS_PER_SECOND: u64 = 100;

/// Ticks of the first processor since its timer was started.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Whose timers are started.
static IS_STARTED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// What else to do at every tick.
static HANDLER: Once<interrupt::Handler> = Once::new();

/// Starts the timer of this processor, unless it is.
pub fn start() {
    let _masked = Masked::new();
    if !IS_STARTED[cpus::this()].swap(true, Ordering::Relaxed) {
        interrupt::handle_with(arch::interrupts::TIMER, tick);
        timer::start();
    }
}

/// How many ticks there were so far.
pub fn now() -> u64 {
    TICKS.load(Ordering::Relaxed)
}

/// Calls `handler` at every tick from now on. The first one set stays.
pub fn handle_with(handler: interrupt::Handler) {
    HANDLER.call_once(|| handler);
}

fn tick(frame: &mut TrapFrame) {
    timer::again();
    if cpus::this() == 0 {
        TICKS.fetch_add(1, Ordering::Relaxed);
    }
    POSTMORTEM.tick(TICKS_PER_SECOND);
    task::end_slice();
    if let Some(handler) = HANDLER.get() {
        handler(frame);
    }
}
