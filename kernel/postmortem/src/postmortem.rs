//! The state of a kernel's reports, in a static.

use core::fmt::{self, Display, Write};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::arch::{Registers, TrapFrame};
use crate::cpu;
use crate::first_failure::FirstFailure;
use crate::ladder::{Entry, Ladder};
use crate::last_words::{LastWords, Region};
use crate::platform::Platform;
use crate::rendezvous::{Rendezvous, Side};
use crate::stacks::Stacks;
use crate::walk::Walk;
use crate::watchdog::{Ticks, Watchdog};
use crate::words::Words;
use crate::x86_64::{LastMachineCheck, MachineCheck};

/// A function that writes a trace in the form that the kernel chooses. It returns an error if the writer does.
///
/// ```
/// // Lines of at most 80 columns, for a screen.
/// const COMPACT: postmortem::WriteTrace = |walk, out| walk.write_compact(out, 80);
/// ```
pub type WriteTrace = fn(&Walk, &mut dyn Write) -> fmt::Result;

/// The CPUs, as far as a report knows them.
pub(crate) trait Cpus {
    /// The CPU that writes the report.
    fn this(&self) -> usize;

    /// The registers with which a walk of this CPU begins, and all registers if the CPU was interrupted. `None` if the CPU does not answer.
    fn of(&self, cpu: usize) -> Option<(Registers, Option<&TrapFrame>)>;
}

/// The condition for a dump, and the function that writes it, which is linked only into kernels that use `with_dump`.
#[derive(Clone, Copy)]
pub(crate) struct Dump {
    pub is_wanted: fn() -> bool,
    pub write: fn(&'static Postmortem, &dyn Cpus),
}

/// The data of one CPU. A kernel has a static array with an element for each CPU.
#[derive(Debug)]
pub struct PerCpu {
    side: Side,
    pub(crate) ticks: Ticks,
    pub(crate) machine_check: LastMachineCheck,
    /// The reports of a CPU, which need not be the CPU with this element's index: see [`Postmortem::entry`].
    pub(crate) entry: Entry,
}

impl Default for PerCpu {
    fn default() -> Self {
        Self::new()
    }
}

impl PerCpu {
    /// Creates the data of a CPU that has not reported anything yet.
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
            machine_check: LastMachineCheck::new(),
            entry: Entry::new(),
        }
    }
}

/// The reports of a dying kernel, in a static that is made from the kernel's [`Platform`].
///
/// The first line of a report, up to the place of the failure, is sent before any method of the kernel except [`Platform::write`] is
/// called. The first failure is reported in full. A failure during that report adds one line, and the callers again if the stack was full.
/// A failure during that line adds nothing.
///
/// Then [`Platform::leave`] is called. If it fails, it is called once more; if it fails again, the CPU halts. A report that does not
/// continue for [`SECONDS`](crate::SECONDS) is ended by a CPU that the report has stopped, or by the [watchdog](Self::tick).
pub struct Postmortem {
    pub(crate) platform: &'static dyn Platform,
    per_cpu: &'static [PerCpu],
    pub(crate) rendezvous: Rendezvous,
    pub(crate) watchdog: Watchdog,
    pub(crate) first_failure: FirstFailure,
    pub(crate) last_words: Option<LastWords>,
    pub(crate) write_trace: WriteTrace,
    pub(crate) dump: Option<Dump>,
    /// The steps of the report that ends the kernel.
    pub(crate) ladder: Ladder,
    /// The text written last did not end with a newline, or is being written.
    line_is_open: AtomicBool,
    /// The device is taking bytes.
    is_sending: AtomicBool,
    /// How many texts were sent.
    sent: AtomicUsize,
}

impl fmt::Debug for Postmortem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postmortem").finish_non_exhaustive()
    }
}

/// A writer that takes no lock, for kernels whose own console has one. [`Postmortem::out`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct Out(&'static Postmortem);

impl Write for Out {
    /// Sends the text. Never returns an error: bytes that the device does not accept are lost.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text);
        Ok(())
    }
}

/// A writer of text that is not kept as last words.
pub(crate) struct OnlySent(&'static Postmortem);

impl Write for OnlySent {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.send(text);
        Ok(())
    }
}

impl Postmortem {
    /// Creates the reports of a kernel with as many CPUs as `per_cpu` has elements.
    ///
    /// ```no_run
    /// use postmortem::{PerCpu, Platform, Postmortem};
    ///
    /// const fn reports(kernel: &'static dyn Platform) -> Postmortem {
    ///     static PER_CPU: [PerCpu; 4] = [const { PerCpu::new() }; 4];
    ///     Postmortem::new(kernel, &PER_CPU)
    /// }
    /// ```
    #[must_use]
    pub const fn new(platform: &'static dyn Platform, per_cpu: &'static [PerCpu]) -> Self {
        Self {
            platform,
            per_cpu,
            rendezvous: Rendezvous {
                held: AtomicUsize::new(0),
            },
            watchdog: Watchdog::new(),
            first_failure: FirstFailure::new(),
            last_words: None,
            write_trace: |walk, out| walk.write(out, false),
            dump: None,
            ladder: Ladder::new(),
            line_is_open: AtomicBool::new(false),
            is_sending: AtomicBool::new(false),
            sent: AtomicUsize::new(0),
        }
    }

    /// Keeps the last text of the kernel in `region`, which the next boot [shows](Self::show_last_words).
    #[must_use]
    pub const fn with_last_words(mut self, region: &'static Region) -> Self {
        self.last_words = Some(LastWords::new(region));
        self
    }

    /// Writes traces with the function `write`. Without this call, traces are text without registers.
    #[must_use]
    pub const fn with_traces(mut self, write: WriteTrace) -> Self {
        self.write_trace = write;
        self
    }

    /// Writes the last text before the reset that led to this boot, if it is known. Then discards it, to keep the text of this boot. Call
    /// it once, when the kernel boots.
    pub fn show_last_words(&'static self) {
        if let Some(last_words) = &self.last_words {
            // Writing never fails.
            let _ = last_words.show(&mut self.out());
        }
    }

    /// Discards the kept text, so that the next boot shows nothing. Call it before the kernel resets the machine without a failure.
    pub fn forget_last_words(&self) {
        if let Some(last_words) = &self.last_words {
            last_words.forget();
        }
    }

    /// Returns the number of boots since power was switched on, this boot included. [`Self::show_last_words`] counts them; 0 without a
    /// region.
    pub fn boots(&self) -> u32 {
        self.last_words.as_ref().map_or(0, LastWords::boots)
    }

    /// Sends text to the kernel's device, and keeps it as last words. A kernel's `println!` should call it, so that its text is kept, and
    /// so that a report ends an unfinished line.
    ///
    /// ```no_run
    /// struct Console(&'static postmortem::Postmortem);
    /// impl core::fmt::Write for Console {
    ///     fn write_str(&mut self, text: &str) -> core::fmt::Result {
    ///         self.0.write(text);
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn write(&self, text: &str) {
        if let Some(last_words) = &self.last_words {
            if self.is_ending() {
                last_words.keep_report(text.as_bytes());
            } else if !self.ladder.has_begun() {
                // The text of a CPU that does not answer is not kept from now on, because it would be shown before the report.
                last_words.keep(text.as_bytes());
            }
        }
        self.send(text);
    }

    /// Sends text to the kernel's device, and keeps nothing.
    pub(crate) fn send(&self, text: &str) {
        let Some(last) = text.as_bytes().last() else {
            return;
        };
        // Before the device has all of it: a report may stop this CPU, and begins in the middle of this text.
        self.line_is_open.store(true, Ordering::Relaxed);
        self.is_sending.store(true, Ordering::Relaxed);
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.platform.write(text.as_bytes());
        self.is_sending.store(false, Ordering::Relaxed);
        self.line_is_open.store(*last != b'\n', Ordering::Relaxed);
        if self.ladder.has_begun() || self.rendezvous.holder().is_some() {
            self.entry().go_on();
        }
    }

    /// How many texts were sent so far.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether a CPU is in the method that sends bytes.
    pub(crate) fn is_sending(&self) -> bool {
        self.is_sending.load(Ordering::Relaxed)
    }

    /// Whether this CPU writes the report that ends the kernel.
    fn is_ending(&self) -> bool {
        self.ladder.has_begun() && self.ladder.writer() == owner()
    }

    /// Returns a writer for reports, and ends an unfinished line. The writer takes no lock, because a CPU that holds a lock may never
    /// release it.
    pub fn out(&'static self) -> Out {
        if self.line_is_open.load(Ordering::Relaxed) {
            self.write("\n");
        }
        self.same_line()
    }

    /// A writer that continues an unfinished line.
    pub(crate) const fn same_line(&'static self) -> Out {
        Out(self)
    }

    /// A writer like [`Self::out`] whose text is not kept.
    pub(crate) fn only_sent(&'static self) -> OnlySent {
        if self.line_is_open.load(Ordering::Relaxed) {
            self.send("\n");
        }
        OnlySent(self)
    }

    /// Starts the watchdog: every CPU that [ticks](Self::tick) watches the next CPU.
    pub fn start_watchdog(&self) {
        self.watchdog.start();
    }

    /// Returns whether the watchdog watches this CPU, because the CPU has ticked.
    pub fn is_watched(&self) -> bool {
        let number = self.number(self.entry());
        number.is_some_and(|number| self.per_cpu(number).ticks.have_begun())
    }

    /// Records a machine check of this CPU, as the hardware describes it, for the report.
    pub fn note_machine_check(&self, error: MachineCheck) {
        self.machine_check(Some(self.platform.cpu())).note(error);
    }

    /// Returns the stacks of this kernel.
    pub const fn stacks(&self) -> Stacks<'static> {
        Stacks::of(self.platform)
    }

    /// Returns the text of an exception on this CPU: the cause and the place.
    pub fn words<'a>(&'a self, frame: &'a TrapFrame) -> impl Display + 'a {
        self.words_of(self.number(self.entry()), frame)
    }

    /// What happened on the CPU with this number, if that is known, in words.
    pub(crate) fn words_of<'a>(&'a self, cpu: Option<usize>, frame: &'a TrapFrame) -> Words<'a> {
        Words::new(self.platform, self.machine_check(cpu), frame)
    }

    /// The last machine check of the CPU with this number, if that is known.
    pub(crate) fn machine_check(&self, cpu: Option<usize>) -> &LastMachineCheck {
        let cpu = cpu.map_or(&NO_CPU, |cpu| self.per_cpu(cpu));
        &cpu.machine_check
    }

    /// Records the number that [`Platform::cpu`] returns on this CPU, so that a report need not call that method. Call it on each CPU once
    /// the number is known. Without it, and without a tick or report before, a report of the CPU has one additional line.
    pub fn know_cpu(&self) {
        self.number(self.entry());
    }

    /// The reports of this CPU. Calls nothing of the kernel's.
    pub(crate) fn entry(&self) -> &Entry {
        let owner = owner();
        let entries = || self.per_cpu.iter().map(|it| &it.entry);
        let own = entries().find(|it| it.is_of(owner));
        let own = own.or_else(|| entries().find(|it| it.take(owner)));
        // The machine has more CPUs than `per_cpu` has elements. The additional CPUs share an entry.
        own.unwrap_or(&NO_CPU.entry)
    }

    /// The reports of the CPU with this hardware number, plus one.
    pub(crate) fn entry_of(&self, owner: u64) -> Option<&Entry> {
        let mut entries = self.per_cpu.iter().map(|it| &it.entry);
        entries.find(|it| owner != 0 && it.is_of(owner))
    }

    /// The reports of the CPU with this number, if the number is known.
    pub(crate) fn entry_of_number(&self, number: usize) -> Option<&Entry> {
        let mut entries = self.per_cpu.iter().map(|it| &it.entry);
        entries.find(|it| it.number() == Some(number))
    }

    /// The number of this CPU, whose reports are `entry`, if it is known without a call of the kernel.
    pub(crate) fn known_number(&self, entry: &Entry) -> Option<usize> {
        match self.per_cpu {
            [_] => Some(0),
            _ => entry.number(),
        }
    }

    /// The number of this CPU, whose reports are `entry`. Calls the kernel if it is not known yet. `None` if the kernel does not know it
    /// either.
    pub(crate) fn number(&self, entry: &Entry) -> Option<usize> {
        self.known_number(entry).or_else(|| {
            let number = self.platform.cpu();
            let is_valid = number < self.per_cpu.len();
            is_valid.then(|| {
                entry.learn(number);
                number
            })
        })
    }

    /// The numbers of all CPUs that are online.
    pub(crate) fn online(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.per_cpu.len()).filter(|cpu| self.platform.is_online(*cpu))
    }

    /// The numbers of all CPUs that are online, without `this`.
    pub(crate) fn online_besides(&self, this: usize) -> impl Iterator<Item = usize> + '_ {
        let others = (0..self.per_cpu.len()).filter(move |cpu| *cpu != this);
        others.filter(|cpu| self.platform.is_online(*cpu))
    }

    /// The numbers of all CPUs that are online, and `this`, which may be too early to be online.
    pub(crate) fn running(&self, this: usize) -> impl Iterator<Item = usize> + '_ {
        let all = 0..self.per_cpu.len();
        all.filter(move |cpu| *cpu == this || self.platform.is_online(*cpu))
    }

    pub(crate) fn side(&self, cpu: usize) -> &Side {
        &self.per_cpu(cpu).side
    }

    /// The data of the CPU with this number.
    pub(crate) fn per_cpu(&self, cpu: usize) -> &PerCpu {
        self.per_cpu.get(cpu).unwrap_or(&NO_CPU)
    }
}

/// For a CPU that the kernel does not know, because a report must not panic.
static NO_CPU: PerCpu = PerCpu::new();

/// The hardware number of this CPU, plus one.
pub(crate) fn owner() -> u64 {
    u64::from(cpu::hardware_number()).wrapping_add(1)
}
