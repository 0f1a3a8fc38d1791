//! The entry points: panic, fault, breakpoint, NMI, tick. Each counts before it calls the kernel.

use core::fmt::Write;
use core::panic::PanicInfo;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::arch::{Registers, TrapFrame};
use crate::cause::Cause;
use crate::cpu::Undisturbed;
use crate::dying::Wait;
use crate::held::Held;
use crate::ladder::Entry;
use crate::postmortem::Postmortem;
use crate::report::Report;
use crate::subject::FirstLine;

impl Postmortem {
    /// Reports a panic, and ends the kernel.
    ///
    /// Call it in the panic handler, with the registers that [`capture`](crate::capture) returns there. The panic handler is the first
    /// frame of the trace.
    ///
    /// ```no_run
    /// # fn panic(info: &core::panic::PanicInfo<'_>, POSTMORTEM: &'static postmortem::Postmortem) -> ! {
    /// // #[panic_handler] fn panic(info: &PanicInfo<'_>) -> ! {
    /// POSTMORTEM.panic(info, postmortem::capture())
    /// # }
    /// ```
    pub fn panic(&'static self, info: &PanicInfo<'_>, registers: Registers) -> ! {
        self.die(&Cause::Panic(info, registers))
    }

    /// Reports an exception that the kernel cannot handle, and ends the kernel.
    pub fn fault(&'static self, frame: &TrapFrame) -> ! {
        self.die(&Cause::Fault(frame))
    }

    /// Reports a breakpoint, and returns. The other CPUs are stopped during the report, so that their text does not mix with it.
    ///
    /// ```no_run
    /// # fn handler(frame: &mut postmortem::TrapFrame, POSTMORTEM: &'static postmortem::Postmortem) {
    /// if frame.is_breakpoint() {
    ///     POSTMORTEM.breakpoint(frame);
    ///     frame.skip_breakpoint();
    /// }
    /// # }
    /// ```
    pub fn breakpoint(&'static self, frame: &TrapFrame) {
        let cause = Cause::Breakpoint(frame);
        let _undisturbed = Undisturbed::new();
        let entry = self.entry();
        let entered = entry.enter();
        let cpu = match entered.is_nested() {
            false => self.number_or_only(entry),
            // The breakpoint is in code that a report calls. This code must not be called again.
            true => None,
        };
        let Some(cpu) = cpu else {
            return self.note(entry, &cause);
        };
        let mut wait = Wait::new(self, entry);
        let poll = || self.end_if_stuck(&mut wait, cpu);
        let held = Held::begin_for(self, cpu, &cause, poll);
        held.stop();
        let mut out = self.out();
        // Writing never fails; the error of a broken `Display` has nowhere to go.
        let _ = writeln!(out, "{}", self.first_line(Some(cpu), &cause));
        let _ = Report::new(self).write_cause(&mut out, &held, &cause);
    }

    /// Writes one line about a breakpoint that has no report: it is inside of a report, or of a CPU whose number is unknown.
    fn note(&'static self, entry: &Entry, cause: &Cause<'_>) {
        if entry.notes() {
            let what = match entry.is_reporting() {
                true => "during the report: ",
                false => "",
            };
            let line = self.first_line(self.known_number(entry), cause);
            // Writing never fails; the error of a broken `Display` has nowhere to go.
            let _ = writeln!(self.out(), "{what}{line}");
        }
    }

    /// Handles any exception of a kernel without handlers of its own.
    ///
    /// A failed read of a report is recovered. An NMI (which reaches all CPUs, as on a PC) and a breakpoint are reported, and the function
    /// returns. Any other exception is reported and ends the kernel.
    ///
    /// ```no_run
    /// # fn handler(frame: &mut postmortem::TrapFrame, POSTMORTEM: &'static postmortem::Postmortem) {
    /// // extern "C" fn exception(frame: &mut TrapFrame) {
    /// POSTMORTEM.exception(frame);
    /// # }
    /// ```
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

    /// Handles an NMI that [`Platform::send_nmi`](crate::Platform::send_nmi) sent, or an NMI from outside, such as from a button or an
    /// emulator's command. Returns whether it has written a report of all CPUs, requested from outside.
    ///
    /// Call it at every NMI. On x86-64 an NMI has no sender. Therefore a CPU that sends an NMI announces it first; without an announcement
    /// the NMI came from outside.
    ///
    /// `reaches_all` states that an NMI from outside reaches all CPUs, as on a PC; one of them then reports for all. `outside`, if given,
    /// is called instead of that report.
    ///
    /// ```no_run
    /// # fn handler(frame: &mut postmortem::TrapFrame, POSTMORTEM: &'static postmortem::Postmortem) {
    /// if frame.is_nmi() {
    ///     POSTMORTEM.nmi(frame, true, None);
    /// }
    /// # }
    /// ```
    pub fn nmi(&'static self, frame: &TrapFrame, reaches_all: bool, outside: Option<fn()>) -> bool {
        let _undisturbed = Undisturbed::new();
        let entry = self.entry();
        let entered = entry.enter();
        let Some(cpu) = self.number(entry) else {
            return false;
        };
        let side = self.side(cpu);
        let was_asked = side.is_asked.swap(false, Ordering::AcqRel);
        let answer = || {
            let mut wait = Wait::new(self, entry);
            let poll = || self.end_if_stuck(&mut wait, cpu);
            self.rendezvous
                .answer(side, NonNull::from(frame).cast(), poll);
            false
        };
        if self.rendezvous.is_held_by_other(cpu) {
            return answer();
        }
        // Nothing to do: the CPU that sent the NMI has continued already, or this CPU is writing a report anyway.
        if was_asked || self.rendezvous.is_held_by(cpu) || entry.dies() {
            return false;
        }
        if let Some(outside) = outside {
            drop(entered);
            outside();
            return false;
        }
        let Some(held) = Held::begin(self, cpu) else {
            return answer();
        };
        if reaches_all {
            held.wait();
        }
        held.stop();
        let cause = Cause::Nmi(frame);
        let mut out = self.out();
        // Writing never fails; the error of a broken `Display` has nowhere to go.
        let _ = writeln!(out, "{}", self.first_line(Some(cpu), &cause));
        let report = Report::new(self);
        let _ = report.write_cause(&mut out, &held, &cause);
        let _ = report.write_others(&mut out, &held, Some(&cause));
        true
    }

    /// Counts a tick of this CPU's timer, and checks the CPU that this CPU watches. Once [`start_watchdog`](Self::start_watchdog) was
    /// called, a CPU whose timer has not ticked for more than [`SECONDS`](crate::SECONDS) is reported, and the kernel ends.
    ///
    /// Call it in the handler of each CPU's timer.
    ///
    /// ```no_run
    /// # fn timer(POSTMORTEM: &'static postmortem::Postmortem) {
    /// // The timer interrupts 100 times a second.
    /// POSTMORTEM.tick(100);
    /// # }
    /// ```
    pub fn tick(&'static self, ticks_per_second: u64) {
        let Some(cpu) = self.number(self.entry()) else {
            return;
        };
        let ticks = |cpu| &self.per_cpu(cpu).ticks;
        let steps = |cpu| self.entry_of_number(cpu).map_or(0, Entry::progress);
        let hangs = self
            .watchdog
            .tick(cpu, self.online(), ticks, steps, ticks_per_second);
        if let Some(hangs) = hangs {
            self.die(&Cause::Hang(hangs, crate::capture()));
        }
    }

    /// The first line of a report of this cause.
    pub(crate) const fn first_line<'a>(
        &'a self,
        cpu: Option<usize>,
        cause: &'a Cause<'a>,
    ) -> FirstLine<'a> {
        FirstLine {
            postmortem: self,
            cpu,
            cause,
        }
    }
}
