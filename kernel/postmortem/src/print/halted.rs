//! CPUs that halt for ever, so that one of them can tell where the others were. This is only the protocol, whose orders of loads and
//! stores `loom` checks in `tests/halted.rs`.
//!
//! Each that halts adds a note, which lies on its own stack, to a list. Nobody takes one off, and nobody goes on: so there is
//! no room to run out of, no number that is used again, and a note that was found stays.

use core::ptr;

use crate::atomics::{AtomicPtr, AtomicUsize, Ordering};

/// The state of all CPUs.
#[derive(Debug)]
pub struct Halted<T> {
    /// The number of the CPU that has asked the others to halt, plus one; or 0.
    pub by: AtomicUsize,
    /// The last note that was added; or null.
    pub last: AtomicPtr<Note<T>>,
}

/// What one CPU leaves for others to read.
#[derive(Debug)]
pub struct Note<T> {
    /// Its number.
    pub cpu: u32,
    /// Where it was.
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
    /// Asks all other CPUs to halt. Returns whether this is the first time that any CPU does.
    pub fn ask(&self, cpu: u32) -> bool {
        // Release: what this CPU has written before can be read by those that have seen that they are asked.
        let asked =
            (self.by).compare_exchange(0, number(cpu), Ordering::Release, Ordering::Relaxed);
        asked.is_ok()
    }

    /// Whether another CPU has asked this one.
    pub fn is_asked(&self, cpu: u32) -> bool {
        let by = self.by.load(Ordering::Acquire);
        by != 0 && by != number(cpu)
    }

    /// Adds a note.
    ///
    /// # Safety
    /// Nobody else uses the note, and from now on nobody changes it or takes its place.
    pub unsafe fn add(&self, note: *mut Note<T>) {
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            // SAFETY: it is in no list yet, so only this CPU uses it.
            unsafe { (*note).before = last };
            // Release: all of the note is written before anybody finds it. Whoever finds a later one has come to that by
            // exchanges such as this, which do not break the order.
            match (self.last).compare_exchange(last, note, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => last = now,
            }
        }
    }

    /// The notes that were added, the last one first.
    ///
    /// # Safety
    /// All notes can be read where they were added.
    pub unsafe fn notes(&self) -> impl Iterator<Item = &Note<T>> {
        // Acquire: see `add`.
        let last = self.last.load(Ordering::Acquire);
        // SAFETY: null, or added by `add`, as the one before it; they stay, and can be read.
        let note = |note: *const Note<T>| unsafe { note.as_ref() };
        core::iter::successors(note(last), move |it| note(it.before))
    }
}
