//! Interrupts that cannot be masked: another processor wants this one to stop, or somebody outside wants to know what all
//! of them do.

use core::fmt::Write;
use core::sync::atomic::{AtomicU32, Ordering};

use spin::Once;

use crate::arch::interrupts;
use crate::arch::trap::TrapFrame;
use crate::console::Console;
use crate::report::{self, Cause};
use crate::stop;

/// What to do when somebody outside asks, instead of a report.
static HANDLER: Once<fn()> = Once::new();

/// Calls `handler` at every NMI from outside from now on. The first one set stays.
pub fn handle_with(handler: fn()) {
    HANDLER.call_once(|| handler);
}

/// How many reports were asked for from outside, and are done.
pub static REPORTS: AtomicU32 = AtomicU32::new(0);

/// Called with what was interrupted: x86-64 an NMI, AArch64 an interrupt of group 0.
///
/// On x86-64 nothing says who sent it. What another processor sends is announced; if none did, it came from outside: a
/// button, QEMU's `nmi`. On a PC that goes to every processor, and one of them reports for all.
pub fn received(frame: &mut TrapFrame) {
    let was_asked = stop::was_asked();
    if stop::is_held() {
        stop::answer(frame);
    } else if !was_asked && !stop::holds() {
        match HANDLER.get() {
            Some(handler) => handler(),
            None => from_outside(frame),
        }
    }
    // Otherwise it came too late, and who asked has gone on; or this processor is writing a report, which is what somebody
    // outside wants.
}

fn from_outside(frame: &mut TrapFrame) {
    if !stop::hold() {
        stop::answer(frame);
        return;
    }
    if interrupts::NMI_REACHES_ALL {
        stop::expect();
    }
    stop::stop();
    let mut console = Console::for_report();
    let cause = Cause::Nmi(frame);
    // The console never fails, and what a broken `Display` has written is there.
    let _ = writeln!(console, "{cause}");
    let _ = report::write(&mut console, &cause);
    let _ = report::write_others(&mut console, Some(&cause));
    REPORTS.fetch_add(1, Ordering::Release);
    stop::release();
}
