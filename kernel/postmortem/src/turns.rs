//! Access to two copies of a list: readers never wait, and a change writes to the copy that is not shown.
//!
//! The state is one word: the copy that is shown, and the number of readers. A reader adds itself and learns the copy in one step, so its
//! copy was shown when it was counted. If the word has no reader, all earlier readers have left, whether they read one copy or the other,
//! and each later reader gets the copy that is shown now. Therefore nothing uses the other copy until it is shown.
//!
//! Acquire and release on that word are enough. A reader's last read happens before the store that removes the reader, and a word without
//! readers results from that store. The writes to a copy happen before the store that shows it, and a reader's first step reads that store,
//! or a later one in the same chain of changes of the word.

use crate::atomics::{AtomicBool, AtomicUsize, Ordering};

/// The state of two copies, with the numbers 0 and 1.
#[derive(Debug)]
pub(crate) struct Turns {
    /// Bit 0: the copy that is shown. The other bits: how many readers there are.
    pub(crate) state: AtomicUsize,
    /// Somebody makes a change.
    pub(crate) is_changed: AtomicBool,
}

/// One reader, in [`Turns::state`].
const READER: usize = 2;

impl Turns {
    /// Counts a reader, and returns the copy that it may read until it calls [`Self::leave`].
    pub(crate) fn enter(&self) -> usize {
        self.state.fetch_add(READER, Ordering::Acquire) % READER
    }

    /// A reader has left its copy.
    pub(crate) fn leave(&self) {
        self.state.fetch_sub(READER, Ordering::Release);
    }

    /// Begins a change, unless there is one.
    pub(crate) fn begin(&self) -> bool {
        !self.is_changed.swap(true, Ordering::Acquire)
    }

    /// Ends it.
    pub(crate) fn end(&self) {
        self.is_changed.store(false, Ordering::Release);
    }

    /// In a change: the copy that is shown, which can be read.
    pub(crate) fn shown(&self) -> usize {
        self.state.load(Ordering::Relaxed) % READER
    }

    /// In a change: the copy that can be written to, as nobody reads it.
    pub(crate) fn unused(&self) -> Option<usize> {
        let state = self.state.load(Ordering::Acquire);
        (state < READER).then_some(state ^ 1)
    }

    /// In a change: shows the other copy.
    pub(crate) fn show_other(&self) {
        self.state.fetch_xor(1, Ordering::AcqRel);
    }
}
