//! Parts of memory that somebody has read or sent.

use crate::machine::PIECE;

/// Addresses, and the bytes from each on. Of what two have, that of the later one counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments(pub(super) Vec<(u64, Vec<u8>)>);

impl Segments {
    /// Has everything lie so many bytes higher, modulo 2^64.
    pub(super) fn move_by(&mut self, bytes: u64) {
        for (address, _) in &mut self.0 {
            *address = address.wrapping_add(bytes);
        }
    }

    /// The piece with this address, if any of it is known; what is not known of it is zero.
    pub(super) fn piece(&self, address: u64) -> Option<Box<[u8; PIECE as usize]>> {
        let start = address / PIECE * PIECE;
        let mut piece = None;
        for (first, bytes) in &self.0 {
            let end = first.wrapping_add(bytes.len() as u64);
            let (from, to) = (
                start.max(*first),
                (start | (PIECE - 1)).min(end.wrapping_sub(1)),
            );
            if bytes.is_empty() || from > to {
                continue;
            }
            let piece = piece.get_or_insert_with(|| Box::new([0; PIECE as usize]));
            let count = (to - from + 1) as usize;
            let (at, of) = ((from - start) as usize, (from - first) as usize);
            piece[at..at + count].copy_from_slice(&bytes[of..of + count]);
        }
        piece
    }

    /// Whether the word of so many bytes at this address is known. A kernel of 32 bits sends parts whose ends are in the middle of
    /// words of 64, and the next one from there on.
    pub(super) fn know(&self, address: u64, size: u64) -> bool {
        let mut known = 0;
        while known < size {
            let Some(at) = address.checked_add(known) else {
                return false;
            };
            let behind = self.0.iter().filter_map(|(first, bytes)| {
                let length = bytes.len() as u64;
                length.checked_sub(at.checked_sub(*first)?)
            });
            let count = behind.max().unwrap_or(0);
            if count == 0 {
                return false;
            }
            known = known.saturating_add(count);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_where_it_was() {
        let segments = Segments(vec![(0x1004, vec![1, 2, 3]), (0x17ff, vec![4; 0x802])]);
        let piece = |address| segments.piece(address);
        let first = piece(0x1010).expect("some of it is there");
        assert_eq!(first[3..8], [0, 1, 2, 3, 0]);
        assert_eq!(first[0x7ff], 4);
        let second = piece(0x1800).expect("all of it is there");
        assert_eq!(second[..], [4; 0x800]);
        assert_eq!(piece(0x2000).expect("a byte")[..2], [4, 0]);
        assert!(piece(0x2800).is_none() && piece(0x800).is_none());
    }

    #[test]
    fn what_is_not_there_is_not_known() {
        let segments = Segments(vec![(0x1000, vec![1; 24]), (0x1020, vec![2; 8])]);
        let piece = segments.piece(0x1008).expect("a part is known");
        assert_eq!((piece[0x17], piece[0x18], piece[0x20]), (1, 0, 2));
        let known = [0xff8, 0x1000, 0x1010, 0x1014, 0x1018, 0x1020, 0x1028];
        let known = known.map(|address| segments.know(address, 8));
        assert_eq!(known, [false, true, true, false, false, true, false]);
        assert!(segments.know(0x1014, 4) && !segments.know(0x1018, 4));
        let beside = Segments(vec![(0x100c, vec![1; 4]), (0x1000, vec![1; 12])]);
        assert!(beside.know(0x1008, 8) && !beside.know(0x100c, 8));
        assert!(segments.piece(0x1800).is_none());
        // The last byte that there is.
        let last = Segments(vec![(u64::MAX - 7, vec![3; 8])]);
        assert!(last.know(u64::MAX - 7, 8) && last.piece(u64::MAX).is_some());
    }
}
