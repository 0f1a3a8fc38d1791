//! How far reports have come: counted before the kernel is called, and without its help.
//!
//! A report calls methods of the kernel, and each of them may panic, fault, or never return. An exception in one of them enters the
//! library again. So each CPU is recognized by its hardware number, and each step of the report that ends the kernel is marked before it
//! is taken. A failure continues with the steps that are not marked. The last step calls only library code.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::cause::Cause;

/// The reports of one CPU. A CPU takes the first free entry of the kernel's [`PerCpu`](crate::PerCpu)s.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The hardware number of the CPU, plus one. 0 if the entry is free.
    owner: AtomicU64,
    /// The CPU's number in the kernel, plus one. 0 if the number is unknown.
    number: AtomicUsize,
    /// Reports that return, begun and not ended.
    depth: AtomicUsize,
    /// A failure inside of a report was noted.
    has_noted: AtomicBool,
    /// The CPU has begun to report a failure that ends the kernel.
    dies: AtomicBool,
    /// The first failure that ends the kernel, a [`Cause`] on this CPU's stack; or null.
    first: AtomicPtr<()>,
    /// Changes whenever a report of this CPU, or its wait for another report, continues.
    progress: AtomicU64,
}

impl Entry {
    pub(crate) const fn new() -> Self {
        Self {
            owner: AtomicU64::new(0),
            number: AtomicUsize::new(0),
            depth: AtomicUsize::new(0),
            has_noted: AtomicBool::new(false),
            dies: AtomicBool::new(false),
            first: AtomicPtr::new(null_mut()),
            progress: AtomicU64::new(0),
        }
    }

    /// Whether the entry belongs to the CPU with this hardware number, plus one.
    pub(crate) fn is_of(&self, owner: u64) -> bool {
        self.owner.load(Ordering::Relaxed) == owner
    }

    /// Takes the entry for this CPU if it is free. Returns whether it was.
    pub(crate) fn take(&self, owner: u64) -> bool {
        let taken = (self.owner).compare_exchange(0, owner, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok()
    }

    /// The CPU's number in the kernel, if it is known.
    pub(crate) fn number(&self) -> Option<usize> {
        self.number.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(crate) fn learn(&self, number: usize) {
        self.number.store(number.wrapping_add(1), Ordering::Relaxed);
    }

    /// Begins a report that returns.
    pub(crate) fn enter(&self) -> Entered<'_> {
        let outer = self.depth.fetch_add(1, Ordering::Relaxed);
        let is_nested = outer > 0 || self.dies();
        if !is_nested {
            self.has_noted.store(false, Ordering::Relaxed);
        }
        Entered {
            entry: self,
            is_nested,
        }
    }

    /// Whether a report of this CPU is inside of another one.
    pub(crate) fn is_reporting(&self) -> bool {
        self.dies() || self.depth.load(Ordering::Relaxed) > 1
    }

    /// Begins the report that ends the kernel. Returns whether this CPU had not begun one.
    pub(crate) fn begin_to_die(&self) -> bool {
        self.has_noted.store(false, Ordering::Relaxed);
        !self.dies.swap(true, Ordering::Relaxed)
    }

    /// Keeps the cause of the first failure, until the guard is dropped.
    pub(crate) fn keep<'l>(&'l self, cause: &'l Cause<'_>) -> Kept<'l> {
        let cause = NonNull::from(cause).cast();
        self.first.store(cause.as_ptr(), Ordering::Release);
        Kept(self)
    }

    /// The first failure, if it is kept.
    pub(crate) fn first(&self) -> Option<&Cause<'_>> {
        let first = self.first.load(Ordering::Acquire).cast::<Cause<'_>>();
        // SAFETY: null, or `keep` has stored a pointer to a cause that is borrowed until its guard sets this to null. The guard is not
        // dropped while any CPU uses the cause: the CPU leaves the kernel before, except that a test's kernel leaves by unwinding.
        unsafe { first.as_ref() }
    }

    /// Whether the CPU has begun a report that ends the kernel.
    pub(crate) fn dies(&self) -> bool {
        self.dies.load(Ordering::Relaxed)
    }

    /// Whether a failure inside of the current report is the first to be noted.
    pub(crate) fn notes(&self) -> bool {
        !self.has_noted.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn go_on(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }
}

/// A guard: a report that returns.
#[derive(Debug)]
pub(crate) struct Entered<'e> {
    entry: &'e Entry,
    is_nested: bool,
}

impl Entered<'_> {
    /// Whether the report began inside of another report of this CPU.
    pub(crate) const fn is_nested(&self) -> bool {
        self.is_nested
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.entry.depth.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A guard: the first failure is kept.
#[derive(Debug)]
pub(crate) struct Kept<'l>(&'l Entry);

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.0.first.store(null_mut(), Ordering::Release);
    }
}

/// The steps of the report that ends the kernel.
#[derive(Debug)]
pub(crate) struct Ladder {
    /// The hardware number of the CPU that writes the report, plus one. 0 if there is none.
    writer: AtomicU64,
    /// How many texts were sent when the head of the first line was the last one; 0 if the head was not sent.
    head: AtomicUsize,
    /// The head lacks the CPU's number, which was not known.
    lacks_cpu: AtomicBool,
    /// The first line is complete, or its second half was begun.
    has_line: AtomicBool,
    /// The line about a failure of the report was begun.
    has_second: AtomicBool,
    /// That line was ended, after a failure in it.
    has_end: AtomicBool,
    /// [`Platform::leave`](crate::Platform::leave) was called.
    leaves: AtomicUsize,
}

impl Ladder {
    pub(crate) const fn new() -> Self {
        Self {
            writer: AtomicU64::new(0),
            head: AtomicUsize::new(0),
            lacks_cpu: AtomicBool::new(false),
            has_line: AtomicBool::new(false),
            has_second: AtomicBool::new(false),
            has_end: AtomicBool::new(false),
            leaves: AtomicUsize::new(0),
        }
    }

    /// Whether a CPU writes the report that ends the kernel.
    pub(crate) fn has_begun(&self) -> bool {
        self.writer.load(Ordering::Relaxed) != 0
    }

    /// The writer's hardware number, plus one; or 0.
    pub(crate) fn writer(&self) -> u64 {
        self.writer.load(Ordering::Acquire)
    }

    /// Makes this CPU the writer if there is none. Returns whether this CPU is the writer.
    pub(crate) fn claim(&self, owner: u64) -> bool {
        let claimed = (self.writer).compare_exchange(0, owner, Ordering::AcqRel, Ordering::Acquire);
        claimed.is_ok() || claimed == Err(owner)
    }

    /// Makes this CPU the writer in place of `from`, which does not continue. Returns whether this CPU is the writer.
    pub(crate) fn take(&self, from: u64, owner: u64) -> bool {
        let taken =
            (self.writer).compare_exchange(from, owner, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok()
    }

    /// Forgets a report that does not end the kernel: of a CPU whose number is unknown.
    pub(crate) fn give_up(&self) {
        self.has_line.store(false, Ordering::Relaxed);
        self.has_head(0, false);
        self.writer.store(0, Ordering::Release);
    }

    /// The head of the first line is the last of `sent` texts.
    pub(crate) fn has_head(&self, sent: usize, lacks_cpu: bool) {
        self.lacks_cpu.store(lacks_cpu, Ordering::Relaxed);
        self.head.store(sent, Ordering::Relaxed);
    }

    /// Whether the first line can go on where the text ends: nothing was sent after its head, if `sent` texts were sent so far, and the
    /// head has the number of the CPU, if that is known now.
    pub(crate) fn ends_with_head(&self, sent: usize, knows_cpu: bool) -> bool {
        sent == self.head.load(Ordering::Relaxed) && self.has_whole_head(knows_cpu)
    }

    /// Whether the head of the first line was sent, with the number of the CPU if that is known now.
    pub(crate) fn has_whole_head(&self, knows_cpu: bool) -> bool {
        let is_sent = self.head.load(Ordering::Relaxed) != 0;
        is_sent && !(knows_cpu && self.lacks_cpu.load(Ordering::Relaxed))
    }

    /// Whether the first line is still to be completed. Marks that as done.
    pub(crate) fn takes_line(&self) -> bool {
        !self.has_line.swap(true, Ordering::Relaxed)
    }

    /// Whether the line about a failure of the report is still to be written. Marks that as done.
    pub(crate) fn takes_second(&self) -> bool {
        !self.has_second.swap(true, Ordering::Relaxed)
    }

    /// Whether that line is still to be ended, after a failure in it. Marks that as done.
    pub(crate) fn takes_end(&self) -> bool {
        !self.has_end.swap(true, Ordering::Relaxed)
    }

    /// Whether the kernel is still to be left. True twice, because a kernel may do more than leave, and fail in that. Counts the calls.
    pub(crate) fn takes_leave(&self) -> bool {
        self.leaves.fetch_add(1, Ordering::Relaxed) < 2
    }

    /// Whether the kernel is being left: the report is over.
    pub(crate) fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Relaxed) > 0
    }
}
