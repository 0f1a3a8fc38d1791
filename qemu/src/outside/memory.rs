//! The machine's memory, piece by piece as a walk needs it.

use std::cell::RefCell;
use std::collections::HashMap;

use unwind::RegisterSet;

use crate::machine::{PIECE, Source};

/// The most pieces that are read for a CPU: some stacks are long, and the machine waits.
const MOST: usize = 512;

type Pieces = HashMap<u64, Option<Box<[u8; PIECE as usize]>>>;

/// Memory as one CPU sees it.
#[derive(Debug)]
pub(super) struct Memory<'s> {
    source: RefCell<&'s mut dyn Source>,
    cpu: usize,
    pieces: RefCell<Pieces>,
    /// Of code, which must not take the room of stacks.
    code: RefCell<Pieces>,
}

impl<'s> Memory<'s> {
    pub(super) fn new(source: &'s mut dyn Source, cpu: usize) -> Self {
        Self {
            source: RefCell::new(source),
            cpu,
            pieces: RefCell::default(),
            code: RefCell::default(),
        }
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
            (count < MOST).then(|| source.piece(self.cpu, address))?
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
