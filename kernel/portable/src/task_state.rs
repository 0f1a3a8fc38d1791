//! The state of a task, in an atomic word.

use core::sync::atomic::{AtomicU64, Ordering};

/// The state of a task: what it does, or waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No task has this number.
    Free,
    /// The task runs on this CPU.
    Runs(usize),
    /// The task is ready to run.
    Ready,
    /// The task waits for this tick of the timer.
    Sleeps(u64),
    /// The task waits for the end of the task with this number.
    Joins(usize),
    /// The task waits for a lock.
    Locks,
    /// The task has ended, and was not joined yet.
    Ended,
    /// The task belongs to a CPU that has nothing to do.
    Idles,
}

/// A [`State`] in a word that a report can read at any time: the kind in the low byte, the number above.
#[derive(Debug)]
pub struct AtomicState(AtomicU64);

impl AtomicState {
    /// Creates a word with this state.
    #[must_use]
    pub const fn new(state: State) -> Self {
        Self(AtomicU64::new(encode(state)))
    }

    /// Returns the state.
    #[must_use]
    pub fn load(&self) -> State {
        decode(self.0.load(Ordering::Acquire))
    }

    /// Changes the state.
    pub fn store(&self, state: State) {
        self.0.store(encode(state), Ordering::Release);
    }

    /// Changes the state if it is `from`. Returns whether it was.
    pub fn exchange(&self, from: State, to: State) -> bool {
        let (from, to) = (encode(from), encode(to));
        self.0
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }
}

impl State {
    /// Returns the state in this word, for a reader outside of the kernel. Returns `None` if no task can have such a word, because memory
    /// is damaged or is another kernel's.
    #[must_use]
    pub const fn of(word: u64) -> Option<Self> {
        let state = decode(word);
        if encode(state) == word {
            Some(state)
        } else {
            None
        }
    }
}

/// The last tick that a word has room for; with a thousand ticks a second, it comes after two million years. Who sleeps longer is woken then.
const LAST_TICK: u64 = (1 << 56) - 1;

const fn encode(state: State) -> u64 {
    match state {
        State::Free => 0,
        State::Runs(cpu) => 1 | (cpu as u64) << 8,
        State::Ready => 2,
        State::Joins(task) => 3 | (task as u64) << 8,
        State::Locks => 4,
        State::Ended => 5,
        State::Idles => 7,
        State::Sleeps(tick) if tick < LAST_TICK => 6 | tick << 8,
        State::Sleeps(_) => 6 | LAST_TICK << 8,
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
        7 => State::Idles,
        6 => State::Sleeps(word >> 8),
        _ => State::Free,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_no_state_is_none() {
        for word in [0x100, 0x102, 8, 0xff, u64::MAX] {
            assert_eq!(State::of(word), None, "{word:#x}");
        }
        for word in [0, 1, 0x701, 2, 0x203, 4, 5, 6, 0xff06, 7] {
            assert!(State::of(word).is_some(), "{word:#x}");
        }
    }

    #[test]
    fn a_word_keeps_every_state() {
        for state in [
            State::Free,
            State::Runs(0),
            State::Runs(7),
            State::Ready,
            State::Sleeps(0),
            State::Sleeps((1 << 56) - 1),
            State::Joins(23),
            State::Locks,
            State::Ended,
            State::Idles,
        ] {
            assert_eq!(AtomicState::new(state).load(), state);
            let word = AtomicState::new(State::Ready);
            word.store(state);
            assert_eq!(word.load(), state);
        }
    }

    /// A sum of ticks that was counted wrongly must not end a sleep at once.
    #[test]
    fn nobody_sleeps_longer_than_there_are_ticks() {
        for tick in [1 << 56, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX] {
            let word = AtomicState::new(State::Sleeps(tick));
            assert_eq!(word.load(), State::Sleeps(LAST_TICK), "{tick:#x}");
        }
    }

    /// Tests with gdb read the words of tasks, and know this number.
    #[test]
    fn an_ended_task_is_told_by_its_low_byte() {
        assert_eq!(encode(State::Ended) & 0xff, 5);
    }

    #[test]
    fn only_the_state_that_was_expected_is_exchanged() {
        let word = AtomicState::new(State::Free);
        assert!(!word.exchange(State::Ready, State::Ended));
        assert_eq!(word.load(), State::Free);
        assert!(word.exchange(State::Free, State::Ended));
        assert!(!word.exchange(State::Free, State::Ready));
        assert_eq!(word.load(), State::Ended);
        // The number belongs to the state.
        word.store(State::Joins(1));
        assert!(!word.exchange(State::Joins(2), State::Free));
    }
}
