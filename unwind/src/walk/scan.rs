//! Scanning the stack, the last fallback: words that could be return addresses.

use crate::memory::Memory;
use crate::registers::RegisterSet;
use crate::source::RowSource;
use crate::walk::cursor::read;
use crate::walk::{Fallbacks, Unwinder};

/// The greatest number of candidates that a scan lists, and of words that it reads.
const FRAMES: u32 = 32;
const WORDS: u32 = 4096;

/// The state of a scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    /// The address of the next word.
    at: u64,
    /// Candidates that may still be listed.
    frames: u32,
    /// Words that may still be looked at.
    words: u32,
}

impl Scan {
    /// A scan upwards from the first aligned word at or above a stack pointer, which may have any value, to `end`, if the end is known.
    pub(super) fn new<R: RegisterSet>(sp: u64, end: Option<u64>) -> Self {
        let at = match sp.checked_next_multiple_of(R::WORD) {
            Some(at) => at,
            None => sp,
        };
        let words = match end {
            Some(end) => end.saturating_sub(at).checked_div(R::WORD).unwrap_or(0),
            None => WORDS.into(),
        };
        Self {
            at,
            frames: FRAMES,
            words: u32::try_from(words).map_or(WORDS, |words| words.min(WORDS)),
        }
    }
}

impl<S: RowSource> Unwinder<'_, S> {
    /// Whether to scan if nothing else finds the caller. Only where the code is known: otherwise each word would have to be
    /// looked up in the table, which may take long, and any address in a function would be a candidate.
    pub(super) const fn scans(&self) -> bool {
        self.fallbacks.contains(Fallbacks::SCAN) && !self.code.is_empty()
    }

    /// The next word that could be a return address, and the scan's state after it.
    #[inline(never)]
    pub(super) fn candidate<R: RegisterSet>(
        &self,
        registers: &R,
        memory: &impl Memory,
        mut scan: Scan,
    ) -> Option<(u64, Scan)> {
        scan.frames = scan.frames.checked_sub(1)?;
        loop {
            scan.words = scan.words.checked_sub(1)?;
            let word = read::<R>(memory, scan.at).ok()?;
            scan.at = scan.at.wrapping_add(R::WORD);
            let pc = registers.strip(word);
            if self.is_return_address::<R>(pc) {
                return Some((R::place(pc), scan));
            }
        }
    }
}
