//! The machine's memory, piece by piece as a walk needs it.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::machine::{PIECE, Stopped};

/// The most pieces that are read for a CPU: some stacks are long, and the machine waits.
const MOST: usize = 512;

type Piece = Option<Box<[u8; PIECE as usize]>>;

/// Memory as one CPU sees it.
#[derive(Debug)]
pub(super) struct Memory<'s, 'm> {
    stopped: RefCell<&'s mut Stopped<'m>>,
    cpu: usize,
    pieces: RefCell<HashMap<u64, Piece>>,
}

impl<'s, 'm> Memory<'s, 'm> {
    pub(super) fn new(stopped: &'s mut Stopped<'m>, cpu: usize) -> Self {
        Self {
            stopped: RefCell::new(stopped),
            cpu,
            pieces: RefCell::default(),
        }
    }

    /// The word at this address, which is a multiple of 8.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let mut pieces = self.pieces.borrow_mut();
        let count = pieces.len();
        let piece = pieces.entry(address / PIECE).or_insert_with(|| {
            let mut stopped = self.stopped.borrow_mut();
            (count < MOST).then(|| stopped.piece(self.cpu, address))?
        });
        let word = piece
            .as_ref()?
            .get((address % PIECE) as usize..)?
            .first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }
}
