//! The end of a kernel that met an error: says what, where, and who called whom; then leaves.
//!
//! Takes no lock, allocates nothing, and needs nothing to have been set up.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::arch::cpu::mask_interrupts;
use crate::arch::exit::{leave, reset};
use crate::arch::registers::capture;
use crate::arch::trap::TrapFrame;
use crate::console::Console;
use crate::epitaph::LAST_WORDS;
use crate::report::{self, Cause};
use crate::stop;
use crate::summary::FIRST_FAILURE;
use crate::task;
use crate::verdict::Verdict;

/// How many reports were begun.
static BEGUN: AtomicU32 = AtomicU32::new(0);

/// What comes after a report.
static RESETS: AtomicBool = AtomicBool::new(false);

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let registers = capture();
    die(&Cause::Panic(info, registers))
}

/// Reports an exception that nothing can be done about.
pub fn fault(frame: &TrapFrame) -> ! {
    die(&Cause::Fault(frame))
}

/// Reports that another processor hangs.
pub fn hang(cpu: usize) -> ! {
    die(&Cause::Hang(cpu, capture()))
}

/// Reports a breakpoint, and returns. The other processors stand still meanwhile, so that none writes in between.
pub fn breakpoint(frame: &TrapFrame) {
    let cause = Cause::Breakpoint(frame);
    // It may be in code that a report calls.
    let is_nested = stop::holds();
    if !is_nested {
        stop::hold_for(&cause);
        stop::stop();
    }
    let mut console = Console::for_report();
    // The console never fails, and what a broken `Display` has written is there.
    let _ = writeln!(console, "{cause}");
    let _ = report::write(&mut console, &cause);
    if !is_nested {
        stop::release();
    }
}

fn die(cause: &Cause<'_>) -> ! {
    // Nobody else's turn comes any more.
    mask_interrupts();
    stop::hold_for(cause);
    match BEGUN.fetch_add(1, Ordering::Relaxed) {
        0 => {
            stop::stop();
            LAST_WORDS.take_over();
            let mut console = Console::for_report();
            let _ = write!(FIRST_FAILURE.keeping(&mut console), "{cause}");
            let _ = console.write_str("\n");
            let _ = report::write(&mut console, cause);
            let _ = report::write_others(&mut console, Some(cause));
            let _ = task::write_holders(&mut console);
            let _ = FIRST_FAILURE.repeat(&mut console);
        }
        // Something in the report met an error as well: no second report.
        1 => {
            LAST_WORDS.take_over();
            let mut console = Console::for_report();
            let _ = writeln!(console, "during the report: {cause}");
            let _ = FIRST_FAILURE.repeat(&mut console);
        }
        // The lines above did it. Their line is ended, and that is all.
        _ => drop(Console::for_report()),
    }
    if RESETS.load(Ordering::Relaxed) {
        reset();
    }
    leave(Verdict::Panicked)
}

/// Resets the machine after a report, instead of leaving with a verdict: what a kernel does that nobody looks after.
pub fn reset_at_end() {
    RESETS.store(true, Ordering::Relaxed);
}
