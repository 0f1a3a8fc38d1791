//! The machine's memory, piece by piece as a walk needs it.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::machine::{PIECE, Source};

/// The most pieces that are read for a CPU: some stacks are long, and the machine waits.
const MOST: usize = 512;

type Piece = Option<Box<[u8; PIECE as usize]>>;

/// Memory as one CPU sees it.
#[derive(Debug)]
pub(super) struct Memory<'s> {
    source: RefCell<&'s mut dyn Source>,
    cpu: usize,
    pieces: RefCell<HashMap<u64, Piece>>,
}

impl<'s> Memory<'s> {
    pub(super) fn new(source: &'s mut dyn Source, cpu: usize) -> Self {
        Self {
            source: RefCell::new(source),
            cpu,
            pieces: RefCell::default(),
        }
    }

    /// The word at this address, which is a multiple of 8.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let mut pieces = self.pieces.borrow_mut();
        let count = pieces.len();
        let piece = pieces.entry(address / PIECE).or_insert_with(|| {
            let mut source = self.source.borrow_mut();
            (count < MOST).then(|| source.piece(self.cpu, address))?
        });
        let word = piece
            .as_ref()?
            .get((address % PIECE) as usize..)?
            .first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }
}
