//! The state of a kernel's death, and the ways into it.

use core::fmt::{self, Display, Write};
use core::panic::PanicInfo;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::cause::{Cause, FirstLine};
use crate::first_failure::FirstFailure;
use crate::held::Held;
use crate::last_words::{LastWords, Region};
use crate::platform::Platform;
use crate::rendezvous::{Rendezvous, Side};
use crate::stack::Stacks;
use crate::watchdog::{Ticks, Watchdog};
use crate::x86_64::{MachineCheck, Noted};
use crate::{Registers, TrapFrame};

/// What is kept for each CPU: a static array has as many as the kernel uses.
#[derive(Debug)]
pub struct PerCpu {
    side: Side,
    ticks: Ticks,
}

impl Default for PerCpu {
    fn default() -> Self {
        Self::new()
    }
}

impl PerCpu {
    /// That of a CPU which has not reported anything yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            side: Side {
                is_asked: AtomicBool::new(false),
                stopped: AtomicPtr::new(null_mut()),
                waits_for: AtomicUsize::new(0),
                failed: AtomicPtr::new(null_mut()),
                depth: AtomicUsize::new(0),
            },
            ticks: Ticks::new(),
        }
    }
}

/// The death of a kernel: a static, made from the kernel's [`Platform`].
///
/// A report has three levels. What comes first is reported in full. An error while that is being written is one line. An error
/// while that line is being written ends in silence. Each level ends with [`Platform::leave`].
pub struct Postmortem {
    pub(crate) platform: &'static dyn Platform,
    per_cpu: &'static [PerCpu],
    pub(crate) rendezvous: Rendezvous,
    watchdog: Watchdog,
    machine_check: Noted,
    first_failure: FirstFailure,
    last_words: Option<LastWords>,
    /// How many reports were begun that end the kernel.
    begun: AtomicU32,
    /// What was written last was not the end of a line.
    line_is_open: AtomicBool,
}

impl fmt::Debug for Postmortem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postmortem").finish_non_exhaustive()
    }
}

/// What is written to a [`Postmortem`]: a [`Write`] for kernels whose own console is behind a lock.
#[derive(Clone, Copy, Debug)]
pub struct Out(&'static Postmortem);

impl Write for Out {
    /// Never fails: what a device does not take is lost.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text);
        Ok(())
    }
}

impl Postmortem {
    /// For this kernel, with room for so many CPUs.
    #[must_use]
    pub const fn new(platform: &'static dyn Platform, per_cpu: &'static [PerCpu]) -> Self {
        Self {
            platform,
            per_cpu,
            rendezvous: Rendezvous {
                held: AtomicUsize::new(0),
            },
            watchdog: Watchdog::new(),
            machine_check: Noted::new(),
            first_failure: FirstFailure::new(),
            last_words: None,
            begun: AtomicU32::new(0),
            line_is_open: AtomicBool::new(false),
        }
    }

    /// Keeps what is written in this region, for the next boot to [show](Self::show_last_words).
    #[must_use]
    pub const fn with_last_words(mut self, region: &'static Region) -> Self {
        self.last_words = Some(LastWords::new(region));
        self
    }

    /// Writes what was printed last before the reset that led here, if that is known; then forgets it, to keep what is printed
    /// from now on. To be called once, when the kernel boots.
    pub fn show_last_words(&'static self) {
        if let Some(last_words) = &self.last_words {
            // Writing never fails.
            let _ = last_words.show(&mut self.out());
        }
    }

    /// Forgets what was printed, so that the next boot shows nothing: for a kernel that resets the machine although nothing
    /// went wrong.
    pub fn forget_last_words(&self) {
        if let Some(last_words) = &self.last_words {
            last_words.forget();
        }
    }

    /// Changes a byte of the last words, so that the next boot finds their checksum wrong: for tests of a kernel.
    pub fn damage_last_words(&self) {
        if let Some(last_words) = &self.last_words {
            last_words.damage();
        }
    }

    /// How often the kernel was booted since power was switched on, this time included; counted where last words are kept and
    /// shown.
    pub fn boots(&self) -> u32 {
        self.last_words.as_ref().map_or(0, LastWords::boots)
    }

    /// Sends text to the kernel's device, and keeps it as last words. Reports go this way; a kernel's `println!` should do so
    /// too, so that its text is kept, and a report ends a line that was begun.
    pub fn write(&self, text: &str) {
        if let Some(last_words) = &self.last_words {
            last_words.keep(text.as_bytes());
        }
        self.platform.write(text.as_bytes());
        if let Some(last) = text.as_bytes().last() {
            self.line_is_open.store(*last != b'\n', Ordering::Relaxed);
        }
    }

    /// A writer for a report: takes no lock, because whoever holds it may never let it go. Ends a line that was begun.
    pub fn out(&'static self) -> Out {
        if self.line_is_open.load(Ordering::Relaxed) {
            self.write("\n");
        }
        Out(self)
    }

    /// Reports a panic, and ends the kernel. To be called by the panic handler with the registers that it has
    /// [captured](crate::capture), so that it is the first frame of the trace.
    pub fn panic(&'static self, info: &PanicInfo<'_>, registers: Registers) -> ! {
        self.die(&Cause::Panic(info, registers))
    }

    /// Reports an exception that nothing can be done about, and ends the kernel.
    pub fn fault(&'static self, frame: &TrapFrame) -> ! {
        self.die(&Cause::Fault(frame))
    }

    /// Reports an exception, and returns: a breakpoint. The other CPUs stand still meanwhile, so that none writes in between.
    pub fn breakpoint(&'static self, frame: &TrapFrame) {
        let cause = Cause::Breakpoint(frame);
        let held = Held::begin_for(self, &cause);
        // It may be in code that a report calls.
        if !held.is_nested() {
            held.stop();
        }
        let mut out = self.out();
        // Writing never fails, and what a broken `Display` has written is there.
        let _ = writeln!(out, "{}", self.first_line(&held, &cause));
        let _ = self.write_report(&mut out, &held, &cause);
    }

    /// Does with an exception what can be done without knowing more of the kernel: a read of a report that has failed, an NMI and
    /// a breakpoint return, and everything else is reported and ends the kernel. For x86-64, on a PC.
    #[cfg(target_arch = "x86_64")]
    pub fn exception(&'static self, frame: &mut TrapFrame) {
        if crate::probe::recover(frame) {
            return;
        }
        if frame.is_nmi() {
            self.nmi(frame, true, None);
        } else if frame.is_breakpoint() {
            self.breakpoint(frame);
        } else {
            self.fault(frame);
        }
    }

    /// To be called for what [`Platform::send_nmi`] sends, and for NMIs from outside: a button, an emulator's command. Returns
    /// whether a report of all CPUs was asked for from outside, and is done.
    ///
    /// On x86-64 nothing says who sent an NMI. What another CPU sends is announced; if none did, it came from outside. Then it may
    /// have reached all CPUs (`reaches_all`), as it does on a PC, and one of them reports for all. `outside`, if there is one, is
    /// called instead of that report.
    pub fn nmi(&'static self, frame: &TrapFrame, reaches_all: bool, outside: Option<fn()>) -> bool {
        let cpu = self.platform.cpu();
        let side = self.side(cpu);
        let was_asked = side.is_asked.swap(false, Ordering::AcqRel);
        if self.rendezvous.is_held_by_other(cpu) {
            self.rendezvous.answer(side, NonNull::from(frame).cast());
            return false;
        }
        // Otherwise it came too late, and who asked has gone on; or this CPU is writing a report, which is what somebody outside
        // wants.
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
        // Writing never fails, and what a broken `Display` has written is there.
        let _ = writeln!(out, "{}", self.first_line(&held, &cause));
        let _ = self.write_report(&mut out, &held, &cause);
        let _ = self.write_others(&mut out, &held, Some(&cause));
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

    /// Has every CPU that [ticks](Self::tick) watch the next one.
    pub fn start_watchdog(&self) {
        self.watchdog.start();
    }

    /// Whether the watchdog watches this CPU: it has ticked.
    pub fn is_watched(&self) -> bool {
        self.per_cpu(self.platform.cpu()).ticks.have_begun()
    }

    /// Notes what the hardware says of a machine check, for the report.
    pub fn note_machine_check(&self, error: MachineCheck) {
        self.machine_check.note(error);
    }

    /// Holds the other CPUs, if no other CPU does that: what they do can be looked at once they have
    /// [stopped](Held::stop). They go on when the result is dropped.
    pub fn hold(&'static self) -> Option<Held<'static>> {
        Held::begin(self)
    }

    /// The stacks of this kernel.
    pub const fn stacks(&self) -> Stacks<'static> {
        Stacks::of(self.platform)
    }

    /// What happened, in words.
    pub fn words<'a>(&'a self, frame: &'a TrapFrame) -> impl Display + 'a {
        Words {
            postmortem: self,
            frame,
        }
    }

    fn die(&'static self, cause: &Cause<'_>) -> ! {
        // Nobody else's turn comes any more.
        #[cfg(target_os = "none")]
        crate::arch::mask_interrupts();
        let held = Held::begin_for(self, cause);
        let level = self.begun.fetch_add(1, Ordering::Relaxed);
        // Writing never fails, and what a broken `Display` has written is there.
        let _ = match level {
            0 => self.write_first(&held, cause),
            1 => self.write_second(&held, cause),
            // The line of the second level met an error itself. It is ended, and that is all.
            _ => {
                let _ = self.out();
                Ok(())
            }
        };
        self.platform.leave()
    }

    /// Everything there is to say.
    fn write_first(&'static self, held: &Held<'_>, cause: &Cause<'_>) -> fmt::Result {
        held.stop();
        self.take_over_last_words();
        let mut out = self.out();
        // Each part comes whatever becomes of those before it.
        let line = self.first_line(held, cause);
        let _ = write!(self.first_failure.keeping(&mut out), "{line}");
        let _ = out.write_str("\n");
        let _ = self.write_report(&mut out, held, cause);
        let _ = self.write_others(&mut out, held, Some(cause));
        let _ = self.write_blockers(&mut out);
        self.first_failure.repeat(&mut out)
    }

    /// Something in the report met an error as well: no second report.
    fn write_second(&'static self, held: &Held<'_>, cause: &Cause<'_>) -> fmt::Result {
        self.take_over_last_words();
        let mut out = self.out();
        let _ = writeln!(out, "during the report: {}", self.first_line(held, cause));
        self.first_failure.repeat(&mut out)
    }

    fn take_over_last_words(&self) {
        if let Some(last_words) = &self.last_words {
            last_words.take_over();
        }
    }

    const fn first_line<'a>(&'a self, held: &Held<'_>, cause: &'a Cause<'a>) -> FirstLine<'a> {
        FirstLine {
            postmortem: self,
            cpu: held.cpu(),
            cause,
        }
    }

    /// All CPUs that run, by number.
    pub(crate) fn online(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.per_cpu.len()).filter(|cpu| self.platform.is_online(*cpu))
    }

    pub(crate) fn side(&self, cpu: usize) -> &Side {
        &self.per_cpu(cpu).side
    }

    /// What is kept for a CPU.
    fn per_cpu(&self, cpu: usize) -> &PerCpu {
        /// For a number that `Platform` has promised not to use: a report must not panic.
        static NO_CPU: PerCpu = PerCpu::new();
        self.per_cpu.get(cpu).unwrap_or(&NO_CPU)
    }
}

struct Words<'a> {
    postmortem: &'a Postmortem,
    frame: &'a TrapFrame,
}

impl Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.frame.words(self.postmortem.platform).fmt(f)?;
        match self.postmortem.machine_check.get() {
            Some(error) if self.frame.is_machine_check() => error.fmt(f),
            _ => Ok(()),
        }
    }
}
