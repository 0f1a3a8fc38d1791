//! CPUs that halt forever and leave a note about where they were, for the CPU that writes the report. This file is only the protocol, whose
//! orders of loads and stores `loom` checks in `tests/halted.rs`.
//!
//! Each CPU that halts adds a note to a list; the note is on the CPU's own stack. Notes are never removed, and the CPUs never continue.
//! Therefore the list cannot overflow, no number is used twice, and a note that was found remains valid.

use core::ptr;

use crate::atomics::{AtomicPtr, AtomicUsize, Ordering};

/// The state of all CPUs.
#[derive(Debug)]
pub struct Halted<T> {
    /// The number of the CPU that requested the others to halt, plus one; 0 if there is no such request.
    pub by: AtomicUsize,
    /// The note that was added last; null if there is none.
    pub last: AtomicPtr<Note<T>>,
}

/// The note of one CPU, for other CPUs to read.
#[derive(Debug)]
pub struct Note<T> {
    /// The CPU's hardware number.
    pub cpu: u32,
    /// The place where the CPU was.
    pub of: T,
    before: *const Self,
}

impl<T> Note<T> {
    pub const fn new(cpu: u32, of: T) -> Self {
        let before = ptr::null();
        Self { cpu, of, before }
    }
}

const fn number(cpu: u32) -> usize {
    (cpu as usize).wrapping_add(1)
}

impl<T> Halted<T> {
    /// Requests all other CPUs to halt. Returns whether this is the first request of any CPU.
    pub fn ask(&self, cpu: u32) -> bool {
        // Release: a CPU that reads this request can also read what this CPU wrote before it.
        let asked =
            (self.by).compare_exchange(0, number(cpu), Ordering::Release, Ordering::Relaxed);
        asked.is_ok()
    }

    /// Returns whether another CPU requested this CPU to halt.
    pub fn is_asked(&self, cpu: u32) -> bool {
        let by = self.by.load(Ordering::Acquire);
        by != 0 && by != number(cpu)
    }

    /// Adds a note to the list.
    ///
    /// # Safety
    /// The caller must guarantee that the note is used by this CPU only, and from now on is neither changed nor moved.
    pub unsafe fn add(&self, note: *mut Note<T>) {
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            // SAFETY: it is in no list yet, so only this CPU uses it.
            unsafe { (*note).before = last };
            // Release: the note is complete before another CPU can find it. A later note is reached through exchanges like this one, which
            // keep the order.
            match (self.last).compare_exchange(last, note, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => last = now,
            }
        }
    }

    /// Returns the notes, the newest first.
    ///
    /// # Safety
    /// The caller must guarantee that each note can be read at the address where it was added.
    pub unsafe fn notes(&self) -> impl Iterator<Item = &Note<T>> {
        // Acquire: see `add`.
        let last = self.last.load(Ordering::Acquire);
        // SAFETY: null, or added by `add`, as the one before it; they stay, and can be read.
        let note = |note: *const Note<T>| unsafe { note.as_ref() };
        core::iter::successors(note(last), move |it| note(it.before))
    }
}
