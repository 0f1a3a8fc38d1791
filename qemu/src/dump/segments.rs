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

    /// Whether the word at this address is known, all of it by one part.
    pub(super) fn know(&self, address: u64) -> bool {
        self.0.iter().any(|(first, bytes)| {
            let offset = address.checked_sub(*first);
            offset.is_some_and(|offset| {
                let length = bytes.len() as u64;
                length >= 8 && offset <= length - 8
            })
        })
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
        let known = known.map(|address| segments.know(address));
        assert_eq!(known, [false, true, true, false, false, true, false]);
        assert!(segments.piece(0x1800).is_none());
        // The last byte that there is.
        let last = Segments(vec![(u64::MAX - 7, vec![3; 8])]);
        assert!(last.know(u64::MAX - 7) && last.piece(u64::MAX).is_some());
    }
}
