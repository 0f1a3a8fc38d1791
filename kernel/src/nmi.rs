//! Interrupts that cannot be masked: another CPU wants this one to stop, or somebody outside wants to know what all of them do.

use core::sync::atomic::{AtomicU32, Ordering};

use postmortem::TrapFrame;
use spin::Once;

use crate::arch::interrupts;
use crate::board;
use crate::platform::POSTMORTEM;

/// What to do when somebody outside asks, instead of a report.
static HANDLER: Once<fn()> = Once::new();

/// Calls `handler` at every NMI from outside from now on. The first one set stays.
pub fn handle_with(handler: fn()) {
    HANDLER.call_once(|| handler);
}

/// How many reports were asked for from outside, and are done.
pub static REPORTS: AtomicU32 = AtomicU32::new(0);

/// Called with what was interrupted: x86-64 an NMI, AArch64 an interrupt of group 0.
pub fn received(frame: &TrapFrame) {
    board::clear_button();
    let outside = HANDLER.get().copied();
    if POSTMORTEM.nmi(frame, interrupts::NMI_REACHES_ALL, outside) {
        REPORTS.fetch_add(1, Ordering::Release);
    }
}
