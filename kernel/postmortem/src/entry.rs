//! The entry points: panic, fault, breakpoint, NMI, tick; and the three levels of a report.

use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::arch::{Registers, TrapFrame};
use crate::cause::Cause;
use crate::held::Held;
use crate::postmortem::Postmortem;
use crate::report::Report;
use crate::subject::{FirstLine, Known};

impl Postmortem {
    /// Reports a panic, and ends the kernel. To be called by the panic handler with the registers that it has
    /// [captured](crate::capture), so that it is the first frame of the trace.
    pub fn panic(&'static self, info: &PanicInfo<'_>, registers: Registers) -> ! {
        self.die(&Cause::Panic(info, registers))
    }

    /// Reports an exception that the kernel cannot handle, and ends the kernel.
    pub fn fault(&'static self, frame: &TrapFrame) -> ! {
        self.die(&Cause::Fault(frame))
    }

    /// Reports a breakpoint, and returns. The other CPUs are stopped meanwhile, so that none of them writes in between.
    pub fn breakpoint(&'static self, frame: &TrapFrame) {
        let cause = Cause::Breakpoint(frame);
        let held = Held::begin_for(self, &cause);
        // The breakpoint may be in code that a report calls; then the others are stopped already.
        if !held.is_nested() {
            held.stop();
        }
        let mut out = self.out();
        // Writing never fails; the error of a broken `Display` has nowhere to go.
        let _ = writeln!(out, "{}", self.first_line(&held, &cause));
        let _ = Report::new(self).write_cause(&mut out, &held, &cause);
    }

    /// Handles any exception of a kernel without handlers of its own: recovers failed reads of a report, reports NMIs (as on a
    /// PC) and breakpoints and returns, and for everything else reports and ends the kernel.
    pub fn exception(&'static self, frame: &mut TrapFrame) {
        if crate::probe::recover(frame) {
            return;
        }
        if !frame.can_return() {
            self.fault(frame);
        } else if frame.is_nmi() {
            self.nmi(frame, true, None);
        } else if frame.is_breakpoint() {
            self.breakpoint(frame);
            frame.skip_breakpoint();
        } else {
            self.fault(frame);
        }
    }

    /// To be called at every NMI: those that [`Platform::send_nmi`](crate::Platform::send_nmi) sends, and those from outside,
    /// by a button or an emulator's command. Returns whether it has written a report of all CPUs, asked for from outside.
    ///
    /// On x86-64 an NMI does not tell who sent it. A CPU that sends one announces it first; without announcement it came from
    /// outside. Then it may have reached all CPUs (`reaches_all`), as it does on a PC, and one of them reports for all.
    /// `outside`, if given, is called instead of that report.
    pub fn nmi(&'static self, frame: &TrapFrame, reaches_all: bool, outside: Option<fn()>) -> bool {
        let cpu = self.platform.cpu();
        let side = self.side(cpu);
        let was_asked = side.is_asked.swap(false, Ordering::AcqRel);
        if self.rendezvous.is_held_by_other(cpu) {
            self.rendezvous.answer(side, NonNull::from(frame).cast());
            return false;
        }
        // Nothing to do: the CPU that sent it has gone on already, or this CPU is writing a report anyway.
        if was_asked || self.rendezvous.is_held_by(cpu) {
            return false;
        }
        if let Some(outside) = outside {
            outside();
            return false;
        }
        let Some(held) = Held::begin(self) else {
            self.rendezvous.answer(side, NonNull::from(frame).cast());
            return false;
        };
        if reaches_all {
            held.wait();
        }
        held.stop();
        let cause = Cause::Nmi(frame);
        let mut out = self.out();
        // Writing never fails; the error of a broken `Display` has nowhere to go.
        let _ = writeln!(out, "{}", self.first_line(&held, &cause));
        let report = Report::new(self);
        let _ = report.write_cause(&mut out, &held, &cause);
        let _ = report.write_others(&mut out, &held, Some(&cause));
        true
    }

    /// To be called at every tick of a CPU's timer. Once the watchdog is [started](Self::start_watchdog), reports a CPU whose
    /// timer has not ticked for [`SECONDS`](crate::SECONDS), and ends the kernel.
    pub fn tick(&'static self, ticks_per_second: u64) {
        let cpu = self.platform.cpu();
        let ticks = |cpu| &self.per_cpu(cpu).ticks;
        let hangs = self
            .watchdog
            .tick(cpu, self.online(), ticks, ticks_per_second);
        if let Some(hangs) = hangs {
            self.die(&Cause::Hang(hangs, crate::capture()));
        }
    }

    fn die(&'static self, cause: &Cause<'_>) -> ! {
        // No other task may run on this CPU any more.
        #[cfg(target_os = "none")]
        crate::arch::mask_interrupts();
        let held = Held::begin_for(self, cause);
        let level = self.begun.fetch_add(1, Ordering::Relaxed);
        // Writing never fails; the error of a broken `Display` has nowhere to go.
        let _ = match level {
            0 => self.write_first(&held, cause),
            1 => self.write_second(&held, cause),
            // The line of the second level failed too: `out` ends it, and nothing more is written.
            _ => {
                let _ = self.out();
                Ok(())
            }
        };
        self.platform.leave()
    }

    /// The first level: the whole report.
    fn write_first(&'static self, held: &Held<'_>, cause: &Cause<'_>) -> fmt::Result {
        held.stop();
        self.platform.report_begins();
        let mut out = self.out();
        // Each part is written even if one before it has failed.
        let line = self.first_line(held, cause);
        let _ = write!(self.first_failure.keeping(&mut out), "{line}");
        let _ = out.write_str("\n");
        let report = Report::new(self);
        let _ = report.write_cause(&mut out, held, cause);
        let _ = report.write_others(&mut out, held, Some(cause));
        let _ = report.write_blockers(&mut out);
        let _ = self.first_failure.repeat(&mut out);
        self.platform.report_ends();
        if let Some(dump) = self.dump.filter(|dump| (dump.is_wanted)()) {
            (dump.write)(self, &Known { held, cause });
        }
        Ok(())
    }

    /// The second level: an error in the report is one line, not a second report.
    fn write_second(&'static self, held: &Held<'_>, cause: &Cause<'_>) -> fmt::Result {
        let mut out = self.out();
        let _ = writeln!(out, "during the report: {}", self.first_line(held, cause));
        self.first_failure.repeat(&mut out)
    }

    const fn first_line<'a>(&'a self, held: &Held<'_>, cause: &'a Cause<'a>) -> FirstLine<'a> {
        FirstLine {
            postmortem: self,
            cpu: held.cpu(),
            cause,
        }
    }
}
