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

    /// Whether these bytes at `at` make the checksum wrong: the sum up to their end differs. It stays different, as the later bytes
    /// are the same, and a CRC step maps different sums to different sums. False if the checksum does not cover all of them.
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
