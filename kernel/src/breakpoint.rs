//! Breakpoints: exceptions that the kernel returns from.

use core::hint::black_box;

use postmortem::TrapFrame;
use spin::Once;

use crate::platform::POSTMORTEM;

/// What to do at a breakpoint, instead of a report.
static HANDLER: Once<fn()> = Once::new();

/// Calls `handler` at every breakpoint from now on. Later calls change nothing.
pub fn handle_with(handler: fn()) {
    HANDLER.call_once(|| handler);
}

/// Called at every breakpoint, with the trap frame.
pub fn hit(frame: &TrapFrame) {
    match HANDLER.get() {
        Some(handler) => handler(),
        None => POSTMORTEM.breakpoint(frame),
    }
    // No tail call: a trace of the handler names this function too.
    black_box(());
}
