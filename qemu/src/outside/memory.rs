//! The machine's memory, piece by piece as a walk needs it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use unwind::RegisterSet;

use crate::machine::{PIECE, Source};

/// The most pieces that are read for a CPU without a look at the clock.
const ALWAYS: usize = 512;
/// How long more pieces are read for a CPU: some stacks are long, and the machine waits.
const LONGEST: Duration = Duration::from_secs(1);

type Pieces = HashMap<u64, Option<Box<[u8; PIECE as usize]>>>;

/// Memory as one CPU sees it.
#[derive(Debug)]
pub(super) struct Memory<'s> {
    source: RefCell<&'s mut dyn Source>,
    cpu: usize,
    pieces: RefCell<Pieces>,
    /// Of code, which must not take the room of stacks.
    code: RefCell<Pieces>,
    /// How long pieces were read, and may be.
    spent: Cell<Duration>,
    longest: Duration,
    /// Whether a piece was not read because that would take too long.
    is_too_long: Cell<bool>,
}

impl<'s> Memory<'s> {
    pub(super) fn new(source: &'s mut dyn Source, cpu: usize) -> Self {
        Self {
            source: RefCell::new(source),
            cpu,
            pieces: RefCell::default(),
            code: RefCell::default(),
            spent: Cell::new(Duration::ZERO),
            longest: LONGEST,
            is_too_long: Cell::new(false),
        }
    }

    /// Whether memory that may be mapped was not read because that would take too long.
    pub(super) const fn is_too_long(&self) -> bool {
        self.is_too_long.get()
    }

    /// Whether one more piece may be read, after so many.
    fn may_read(&self, count: usize) -> bool {
        let may = count < ALWAYS || self.spent.get() < self.longest;
        if !may {
            self.is_too_long.set(true);
        }
        may
    }

    /// The same as [`Self::word`], of code. None if it would be compared with itself.
    pub(super) fn code(&self, address: u64) -> Option<u64> {
        let is_own = self.source.borrow().has_own_code();
        is_own.then(|| self.word_in(&self.code, address, 8))?
    }

    /// Whether the machine has said that it runs this image.
    pub(super) fn is_of_image(&self) -> bool {
        self.source.borrow().is_of_image()
    }

    /// The eight bytes at this address, which is a multiple of 8.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        self.word_in(&self.pieces, address, 8)
    }

    /// The word of this architecture's at an address, which is a multiple of its bytes: 4 or 8.
    pub(super) fn word_of<R: RegisterSet>(&self, address: u64) -> Option<u64> {
        self.word_in(&self.pieces, address, R::WORD)
    }

    /// A word of so many bytes, 4 or 8.
    pub(super) fn word_with(&self, address: u64, bytes: u64) -> Option<u64> {
        self.word_in(&self.pieces, address, bytes)
    }

    fn word_in(&self, pieces: &RefCell<Pieces>, address: u64, size: u64) -> Option<u64> {
        let mut pieces = pieces.borrow_mut();
        let count = pieces.len();
        let piece = pieces.entry(address / PIECE).or_insert_with(|| {
            let mut source = self.source.borrow_mut();
            let begun = Instant::now();
            let piece = self
                .may_read(count)
                .then(|| source.piece(self.cpu, address));
            self.spent.set(self.spent.get() + begun.elapsed());
            piece?
        });
        if !self.source.borrow().knows(address, size) {
            return None;
        }
        let from = (address % PIECE) as usize;
        let found = piece.as_ref()?.get(from..from + size as usize)?;
        let mut word = [0; 8];
        word.get_mut(..found.len())?.copy_from_slice(found);
        Some(u64::from_le_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Result, bail};

    use super::*;
    use crate::stub::State;

    /// A machine with memory everywhere.
    #[derive(Debug)]
    struct Everywhere;

    impl Source for Everywhere {
        fn cpus(&mut self) -> Result<Vec<bool>> {
            Ok(vec![false])
        }

        fn state(&mut self, _: usize) -> Result<State> {
            bail!("no registers")
        }

        fn piece(&mut self, _: usize, _: u64) -> Option<Box<[u8; PIECE as usize]>> {
            Some(Box::new([1; PIECE as usize]))
        }
    }

    #[test]
    fn what_is_not_read_because_of_a_limit_is_marked_as_that() {
        let mut source = Everywhere;
        let mut memory = Memory::new(&mut source, 0);
        memory.longest = Duration::MAX;
        let pieces = 4 * ALWAYS as u64;
        assert!((0..pieces).all(|piece| memory.word(piece * PIECE).is_some()));
        assert!(!memory.is_too_long());
        // What was read already is there without a look at the clock.
        memory.longest = Duration::ZERO;
        assert!(memory.word(PIECE).is_some() && !memory.is_too_long());
        assert!(memory.word(pieces * PIECE).is_none() && memory.is_too_long());

        let mut memory = Memory::new(&mut source, 0);
        memory.longest = Duration::ZERO;
        let read = (0..pieces).filter(|piece| memory.word(piece * PIECE).is_some());
        assert_eq!(read.count(), ALWAYS);
    }
}
