//! What a task does, or waits for.

use core::sync::atomic::{AtomicU64, Ordering};

/// What a task does, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no such task.
    Free,
    /// Runs on this processor.
    Runs(usize),
    /// Could run.
    Ready,
    /// Waits for this tick of the timer.
    Sleeps(u64),
    /// Waits for the task with this number to end.
    Joins(usize),
    /// Waits for the lock that it wants.
    Locks,
    /// Has ended, and nobody has waited for it yet.
    Ended,
}

/// A [`State`] in a word that a report may read at any time: the kind in the low byte, the number above.
#[derive(Debug)]
pub struct AtomicState(AtomicU64);

impl AtomicState {
    /// This state.
    pub const fn new(state: State) -> Self {
        Self(AtomicU64::new(encode(state)))
    }

    /// Reads it.
    pub fn load(&self) -> State {
        decode(self.0.load(Ordering::Acquire))
    }

    /// Changes it.
    pub fn store(&self, state: State) {
        self.0.store(encode(state), Ordering::Release);
    }

    /// Changes it if it is `from`.
    pub fn exchange(&self, from: State, to: State) -> bool {
        let (from, to) = (encode(from), encode(to));
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

const fn encode(state: State) -> u64 {
    match state {
        State::Free => 0,
        State::Runs(cpu) => 1 | (cpu as u64) << 8,
        State::Ready => 2,
        State::Joins(task) => 3 | (task as u64) << 8,
        State::Locks => 4,
        State::Ended => 5,
        State::Sleeps(tick) => 6 | tick << 8,
    }
}

const fn decode(word: u64) -> State {
    let number = (word >> 8) as usize;
    match word & 0xff {
        1 => State::Runs(number),
        2 => State::Ready,
        3 => State::Joins(number),
        4 => State::Locks,
        5 => State::Ended,
        6 => State::Sleeps(word >> 8),
        _ => State::Free,
    }
}
