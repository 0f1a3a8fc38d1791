//! What a checksum makes of changed bytes, without summing up everything again for each change.

use std::ops::Range;

use crc32fast::Hasher;

/// The checksums of all beginnings of what a checksum covers.
pub struct Sums {
    start: usize,
    /// Before the first byte, and behind each one.
    sums: Vec<u32>,
}

impl Sums {
    /// Those of a part of `bytes`, all of which has the checksum `whole`.
    #[track_caller]
    pub fn new(bytes: &[u8], covered: Range<usize>, whole: u32) -> Self {
        let mut hasher = Hasher::new();
        let later = bytes[covered.clone()].iter().map(|byte| {
            hasher.update(&[*byte]);
            hasher.clone().finalize()
        });
        let sums: Vec<_> = std::iter::once(0).chain(later).collect();
        assert_eq!(sums.last(), Some(&whole), "the checksum is right");
        Self {
            start: covered.start,
            sums,
        }
    }

    /// Whether the checksum is a wrong one with these bytes at `at`: up to their end it is another one. Then it remains another
    /// one, because the bytes behind are the same, and two sums that one byte makes equal were equal before. False for bytes
    /// that it does not cover.
    pub fn notice(&self, at: usize, new: &[u8]) -> bool {
        let sum = |at: usize| self.sums.get(at.checked_sub(self.start)?).copied();
        let (Some(before), Some(right)) = (sum(at), sum(at + new.len())) else {
            return false;
        };
        let mut hasher = Hasher::new_with_initial(before);
        hasher.update(new);
        hasher.finalize() != right
    }
}
