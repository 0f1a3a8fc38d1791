//! The report that ends the kernel. Each step is marked before it is taken, so that a failure in the step continues with the next one.

use core::fmt::{self, Display, Write};
use core::hint::spin_loop;
use core::time::Duration;

use unwind::RegisterSet as _;

use crate::arch::{TrapFrame, capture};
use crate::cause::Cause;
use crate::cpu::{self, Undisturbed};
use crate::held::Held;
use crate::ladder::Entry;
use crate::patience::Patience;
use crate::postmortem::{Postmortem, owner};
use crate::report::Report;
use crate::stack::Stack;
use crate::subject::Known;
use crate::watchdog::SECONDS;

/// How long the first line waits for a text that another CPU is sending.
const TEXT: Duration = Duration::from_millis(20);

/// A stack with fewer bytes is full: a push or a call has failed.
const FULL: u64 = 64;

impl Postmortem {
    pub(crate) fn die(&'static self, cause: &Cause<'_>) -> ! {
        // No other task may run on this CPU any more.
        core::mem::forget(Undisturbed::new());
        let entry = self.entry();
        if entry.begin_to_die() {
            let _kept = entry.keep(cause);
            self.report(entry, cause)
        }
        let what = self.first_line(self.known_number(entry), cause);
        self.add(entry, entry, &what, cause.of_its_cpu().1)
    }

    /// Reports the first failure of this CPU.
    fn report(&'static self, entry: &Entry, cause: &Cause<'_>) -> ! {
        if self.ladder.claim(owner()) && !self.is_held_by_other(entry) {
            self.begin_line(self.known_number(entry), cause);
        } else {
            self.wait_for_writer(entry, cause);
        }
        let Some(cpu) = self.number_or_only(entry) else {
            self.report_in_a_line(entry, cause)
        };
        let held = self.hold_to_die(entry, cpu, cause);
        held.stop();
        self.report_begins();
        self.finish_line(Some(cpu), cause);
        let mut out = self.out();
        let report = Report::new(self);
        // Each part is written even if one before it has failed.
        let _ = report.write_cause(&mut out, &held, cause);
        let _ = report.write_others(&mut out, &held, Some(cause));
        let _ = report.write_blockers(&mut out, &held);
        let _ = self.first_failure.repeat(&mut out);
        self.platform.report_ends();
        if let Some(dump) = self.dump.filter(|dump| (dump.is_wanted)()) {
            let held = &held;
            (dump.write)(self, &Known { held, cause });
        }
        self.leave()
    }

    /// Sends the head of the first line. The kernel is called by [`Platform::write`](crate::Platform::write) only.
    fn begin_line(&'static self, cpu: Option<usize>, cause: &Cause<'_>) {
        // Another CPU may be in the middle of a text, or this one was interrupted there.
        let mut patience = Patience::of(TEXT);
        while self.is_sending() && !patience.is_over() {
            spin_loop();
        }
        let mut out = self.out();
        self.first_failure.begin();
        let line = self.first_line(cpu, cause);
        // Writing never fails.
        let _ = line.write_head(&mut self.first_failure.keeping(&mut out));
        self.ladder.has_head(self.sent(), line.lacks_cpu());
    }

    /// Calls the kernel before the rest of the report.
    fn report_begins(&self) {
        match self.ladder.ends_with_head(self.sent(), true) {
            true => (self.first_failure).with(|begun| self.platform.report_begins(begun)),
            false => self.platform.report_begins(""),
        }
    }

    /// Completes the first line. If anything was sent after its head, the line is written once more.
    fn finish_line(&'static self, cpu: Option<usize>, cause: &Cause<'_>) {
        if !self.ladder.takes_line() {
            return;
        }
        let line = self.first_line(cpu, cause);
        let mut out = self.same_line();
        if !self.ladder.ends_with_head(self.sent(), cpu.is_some()) {
            let is_kept = self.ladder.has_whole_head(cpu.is_some());
            self.first_failure.begin();
            // Writing never fails.
            let _ = match is_kept {
                // Text of other CPUs came in between on the line, and not where last words are kept.
                true => line.write_head(&mut self.first_failure.keeping(&mut self.only_sent())),
                false => line.write_head(&mut self.first_failure.keeping(&mut self.out())),
            };
        }
        // The error of a broken `Display` has nowhere to go.
        let _ = line.write_tail(&mut self.first_failure.keeping(&mut out));
        let _ = out.write_str("\n");
    }

    /// Ends a report that has failed: completes the first line of the CPU with the entry `first`, and adds a line. `fault` are the registers
    /// of an exception of that CPU.
    fn add(
        &'static self,
        entry: &Entry,
        first: &Entry,
        what: &dyn Display,
        fault: Option<&TrapFrame>,
    ) -> ! {
        let mut wait = Wait::new(self, entry);
        while !self.ladder.claim(owner()) {
            if wait.is_over() && self.ladder.take(wait.writer(), owner()) {
                break;
            }
            spin_loop();
        }
        if let Some(cause) = first.first() {
            self.finish_line(self.known_number(first), cause);
        }
        if self.ladder.takes_second() {
            let mut out = self.out();
            // Writing never fails; the error of a broken `Display` has nowhere to go.
            let _ = writeln!(out, "during the report: {what}");
            let _ = self.first_failure.repeat(&mut out);
            self.repeat_callers(first, fault);
        } else if self.ladder.takes_end() {
            // The line failed, too: it is ended, and nothing more is written.
            let _ = self.out();
        }
        self.leave()
    }

    /// Writes the callers of this CPU's first failure once more, if `fault` is that its stack had no room for the report. The exception has
    /// put the CPU on another stack.
    #[inline(never)]
    fn repeat_callers(&'static self, entry: &Entry, fault: Option<&TrapFrame>) {
        let (Some(first), Some(fault)) = (entry.first(), fault) else {
            return;
        };
        let (registers, _) = first.of_its_cpu();
        let stack = self.stacks().find(registers.sp());
        let is_full = |stack: Stack| {
            let least = stack.words.start.saturating_add(FULL);
            stack.holds(fault.sp()) && fault.sp() < least && !stack.holds(capture().sp())
        };
        if let (Some(cpu), true) = (self.known_number(entry), stack.is_some_and(is_full)) {
            let mut out = self.out();
            // Writing never fails; the error of a broken `Display` has nowhere to go.
            let _ = out.write_str(
                "the stack of the failed code was too small for the report; backtrace of the failed code:\n",
            );
            let _ = Report::new(self).write_callers(&mut out, cpu, registers);
        }
    }

    /// The last step. If the kernel cannot be left, the CPU halts.
    fn leave(&self) -> ! {
        if self.ladder.takes_leave() {
            self.platform.leave()
        }
        cpu::halt()
    }

    /// Holds the other CPUs for the report that ends the kernel.
    fn hold_to_die(&'static self, entry: &Entry, cpu: usize, cause: &Cause<'_>) -> Held<'static> {
        loop {
            let mut wait = Wait::new(self, entry);
            let held = Held::begin_for(self, cpu, cause, || {
                if !wait.is_over() {
                    return;
                }
                match wait.is_for_another_death() {
                    true => self.take_over(&wait, &self.first_line(Some(cpu), cause)),
                    // A report that returns does not continue, and this one ends the kernel.
                    false => drop(self.rendezvous.take(cpu, self.side(cpu))),
                }
            });
            if self.ladder.claim(owner()) {
                return held;
            }
            drop(held);
            self.wait_for_writer(entry, cause);
        }
    }

    /// Waits until the CPU whose report ends the kernel holds this one.
    fn wait_for_writer(&'static self, entry: &Entry, cause: &Cause<'_>) {
        let mut wait = Wait::new(self, entry);
        while wait.is_for_another_death() && self.rendezvous.holder().is_none() {
            if wait.is_over() {
                self.take_over(&wait, &self.first_line(self.known_number(entry), cause));
            }
            spin_loop();
        }
    }

    /// Ends the kernel if another CPU's report, which ends the kernel, does not continue. A CPU that waits calls this again and again.
    pub(crate) fn end_if_stuck(&'static self, wait: &mut Wait<'_>, cpu: usize) {
        if wait.is_over() && wait.is_for_another_death() {
            let stuck = self.entry_of(wait.writer());
            let stuck = stuck.and_then(|stuck| self.known_number(stuck));
            self.take_over(wait, &Stuck { stuck, cpu });
        }
    }

    /// Ends another CPU's report, which does not continue, with a line; unless a third CPU does.
    fn take_over(&'static self, wait: &Wait<'_>, what: &dyn Display) {
        let writer = wait.writer();
        if !self.ladder.take(writer, owner()) {
            return;
        }
        if let Some(cpu) = self.known_number(wait.entry) {
            // The CPUs that it has stopped do not go on.
            self.rendezvous.take(cpu, self.side(cpu));
        }
        if self.is_sending() {
            // The device is what does not continue.
            self.leave()
        }
        let first = self.entry_of(writer).unwrap_or(wait.entry);
        self.add(wait.entry, first, what, None)
    }

    /// Reports a failure of a CPU whose number is unknown, while others run: in a line, without their stacks. Then the CPU halts.
    fn report_in_a_line(&'static self, entry: &Entry, cause: &Cause<'_>) -> ! {
        let mut wait = Wait::new(self, entry);
        loop {
            let is_over = wait.is_over();
            let is_free = !self.is_held_by_other(entry) && !wait.is_for_another_death();
            // Others may write a line meanwhile; after that this is tried again.
            if (is_free || is_over) && self.ladder.claim(owner()) {
                break;
            }
            if is_over && wait.is_for_another_death() {
                self.take_over(&wait, &self.first_line(self.known_number(entry), cause));
            }
            spin_loop();
        }
        self.finish_line(None, cause);
        self.ladder.give_up();
        cpu::halt()
    }

    fn is_held_by_other(&self, entry: &Entry) -> bool {
        let holder = self.rendezvous.holder();
        holder.is_some() && holder != self.known_number(entry)
    }

    /// The number of this CPU. A CPU without a number, while none is online, is the first.
    pub(crate) fn number_or_only(&self, entry: &Entry) -> Option<usize> {
        let number = self.number(entry);
        number.or_else(|| self.online().next().is_none().then_some(0))
    }
}

/// A wait of this CPU for another CPU's report.
pub(crate) struct Wait<'p> {
    postmortem: &'p Postmortem,
    entry: &'p Entry,
    seen: Seen,
    patience: Patience,
}

/// What changes while the other CPU's report continues: who holds, who writes, and their steps.
type Seen = (Option<usize>, u64, [u64; 2]);

impl<'p> Wait<'p> {
    /// The wait begins.
    pub(crate) fn new(postmortem: &'p Postmortem, entry: &'p Entry) -> Self {
        Self {
            postmortem,
            entry,
            seen: postmortem.seen(),
            patience: Patience::of(Duration::from_secs(SECONDS)),
        }
    }

    /// Counts a poll. Returns whether the other CPU's report has not continued for too long. Once that CPU leaves the kernel, the wait
    /// is never over.
    fn is_over(&mut self) -> bool {
        self.entry.go_on();
        let seen = self.postmortem.seen();
        if seen != self.seen {
            self.seen = seen;
            self.patience = Patience::of(Duration::from_secs(SECONDS));
        }
        self.patience.is_over() && !self.postmortem.ladder.leaves()
    }

    /// Whether another CPU writes a report that ends the kernel.
    fn is_for_another_death(&self) -> bool {
        ![0, owner()].contains(&self.writer())
    }

    /// The hardware number of the CPU that writes the report, plus one.
    fn writer(&self) -> u64 {
        self.postmortem.ladder.writer()
    }
}

impl Postmortem {
    fn seen(&self) -> Seen {
        let (holder, writer) = (self.rendezvous.holder(), self.ladder.writer());
        let of_holder = holder.and_then(|holder| self.entry_of_number(holder));
        let entries = [of_holder, self.entry_of(writer)];
        let steps = entries.map(|entry| entry.map_or(0, Entry::progress));
        (holder, writer, steps)
    }
}

/// As text, that the report of a CPU does not continue.
struct Stuck {
    /// The CPU, if its number is known.
    stuck: Option<usize>,
    /// The CPU that has waited for it.
    cpu: usize,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stuck, cpu } = self;
        match stuck {
            Some(stuck) => write!(
                f,
                "cpu {stuck} made no progress with its report for {SECONDS} s, detected by cpu {cpu}"
            ),
            None => write!(
                f,
                "the cpu that writes the report made no progress for {SECONDS} s, detected by cpu {cpu}"
            ),
        }
    }
}
