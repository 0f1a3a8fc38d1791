//! Packs words of up to 64 bits into fewer bytes. Most words of a stack are zero, small numbers, or addresses with common upper bytes.
//!
//! | first byte | following bytes, and the word |
//! |---|---|
//! | 1 to 8 | the `n` lowest bytes of the word, the lowest first, where `n` is the first byte; the other bytes are zero |
//! | 9 to 16 | the `n` lowest bytes of the word, where `n` is the first byte minus 8; the other bytes are equal to the previous address |
//! | 17 to 255 | none: `n` words of zero, where `n` is the first byte minus 16 |
//!
//! An address is a word of more than [`SMALL`] bytes. The previous address of the first word in a line is zero. Better methods need tables
//! of kilobytes, for which a dying kernel may not have the memory.

/// Bytes of the largest number that is no address.
const SMALL: u8 = 2;

/// The first byte before the one for a single word of zero, and the last.
const ZEROS: u8 = 16;
const MOST_ZEROS: u8 = u8::MAX;

/// The words of a line, in `ROOM` bytes at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<const ROOM: usize> {
    bytes: [u8; ROOM],
    length: usize,
    /// The address before the next word.
    before: u64,
    /// The last byte stands for words of zero.
    is_zero: bool,
}

impl<const ROOM: usize> Packed<ROOM> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; ROOM],
            length: 0,
            before: 0,
            is_zero: false,
        }
    }

    /// Adds a word; `false` if there is no room for it.
    pub(crate) fn add(&mut self, word: u64) -> bool {
        if word == 0 {
            return self.add_zero();
        }
        let (whole, differs) = (size(word), size(word ^ self.before).max(1));
        let is_address = whole > SMALL;
        let (first, count) = match is_address && differs < whole {
            true => (differs.saturating_add(8), differs),
            false => (whole, whole),
        };
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let low = word.to_le_bytes();
        let low = low.get(..count.into()).unwrap_or_default();
        let Some((first_byte, rest)) = room.split_first_mut() else {
            return false;
        };
        let Some(rest) = rest.get_mut(..low.len()) else {
            return false;
        };
        *first_byte = first;
        rest.copy_from_slice(low);
        self.length = self.length.saturating_add(1).saturating_add(low.len());
        self.is_zero = false;
        if is_address {
            self.before = word;
        }
        true
    }

    fn add_zero(&mut self) -> bool {
        if self.is_zero
            && let Some(last) = self.bytes.get_mut(self.length.wrapping_sub(1))
            && *last < MOST_ZEROS
        {
            *last = last.saturating_add(1);
            return true;
        }
        let Some(next) = self.bytes.get_mut(self.length) else {
            return false;
        };
        *next = ZEROS.saturating_add(1);
        self.length = self.length.saturating_add(1);
        self.is_zero = true;
        true
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// How many low bytes a word has up to its last one that is not zero.
fn size(word: u64) -> u8 {
    let bits = u64::BITS.saturating_sub(word.leading_zeros());
    u8::try_from(bits.div_ceil(8)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(words: &[u64]) -> Vec<u8> {
        let mut packed = Packed::<96>::new();
        assert!(words.iter().all(|word| packed.add(*word)));
        packed.bytes().to_vec()
    }

    #[test]
    fn each_kind_of_word_is_short() {
        assert_eq!(packed(&[3]), [1, 3]);
        assert_eq!(packed(&[0x1234]), [2, 0x34, 0x12]);
        assert_eq!(packed(&[0, 0, 5, 0]), [18, 1, 5, 17]);
        let high = 0xffff_ffff_8010_0000;
        let whole = [8, 0, 0, 0x10, 0x80, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(packed(&[high]), whole);
        let next = [high, 7, high + 0x1234, high + 0x1234];
        let more = [1, 7, 10, 0x34, 0x12, 9, 0x34];
        assert_eq!(packed(&next), [&whole[..], &more].concat());
        // What is shorter by itself has nothing of the address before it.
        assert_eq!(packed(&[high, 0x1_0000])[9..], [3, 0, 0, 1]);
    }

    #[test]
    fn what_has_no_room_changes_nothing() {
        let mut packed = Packed::<96>::new();
        while packed.add(u64::MAX / 3) && packed.add(u64::MAX / 5) {}
        let before = packed.bytes().to_vec();
        assert!(!packed.add(u64::MAX / 3) && packed.bytes() == before);
        assert!(before.len() <= 96 && before.len() > 96 - 9);
        let mut zeros = Packed::<96>::new();
        let count = (0..).take_while(|_| zeros.add(0)).count();
        assert_eq!(count, 96 * 239);
    }
}
