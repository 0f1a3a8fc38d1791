//! NMIs: another CPU wants this one to stop, or a report of all CPUs was asked for from outside, by a button for example.

use core::sync::atomic::{AtomicU32, Ordering};

use postmortem::TrapFrame;
use spin::Once;

use crate::arch::interrupts;
use crate::board;
use crate::platform::POSTMORTEM;

/// What to do at an NMI from outside, instead of a report.
static HANDLER: Once<fn()> = Once::new();

/// Calls `handler` at every NMI from outside from now on. Later calls change nothing.
pub fn handle_with(handler: fn()) {
    HANDLER.call_once(|| handler);
}

/// How many reports that were asked for from outside are done.
pub static REPORTS: AtomicU32 = AtomicU32::new(0);

/// Called at every NMI (on AArch64 an interrupt of group 0), with the trap frame.
pub fn received(frame: &TrapFrame) {
    board::clear_button();
    let outside = HANDLER.get().copied();
    if POSTMORTEM.nmi(frame, interrupts::NMI_REACHES_ALL, outside) {
        REPORTS.fetch_add(1, Ordering::Release);
    }
}
