//! The letters of a CIE's augmentation string that concern SFrame.
//!
//! gimli refuses the letters `B` (return addresses are signed with key B) and `G` (memory-tagged stack), which AArch64
//! compilers emit. Neither has data of its own, so in a copy of the section each is replaced by `S`, which has none either
//! and which gimli knows; the original letters are returned separately. Refusing the CIE instead would lose every function
//! of a kernel built with `-Z branch-protection=b-key`.

use std::borrow::Cow;

use gimli::{EndianSlice, Format, Reader, RunTimeEndian};
use rustc_hash::FxHashMap;

/// The letters of an augmentation string that are used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Letters {
    /// `S`: a signal frame.
    pub(super) signal: bool,
    /// `B`: key B.
    pub(super) key_b: bool,
}

/// The two kinds of section, which tell a CIE from an FDE in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `.eh_frame`: a CIE has the number 0.
    EhFrame,
    /// `.debug_frame`: a CIE has the largest number of its format.
    DebugFrame,
}

impl Kind {
    fn is_cie(self, id: usize, format: Format) -> bool {
        match (self, format) {
            (Self::EhFrame, _) => id == 0,
            (Self::DebugFrame, Format::Dwarf32) => id == 0xffff_ffff,
            (Self::DebugFrame, Format::Dwarf64) => id == usize::MAX,
        }
    }
}

/// The section without letters that gimli refuses, and the letters of each CIE by its offset.
pub(super) fn replace_letters(
    data: &[u8],
    kind: Kind,
    endian: RunTimeEndian,
) -> (Cow<'_, [u8]>, FxHashMap<usize, Letters>) {
    let mut data = Cow::Borrowed(data);
    let mut all = FxHashMap::default();
    let mut at = 0;
    // At damage this loop ends, and gimli reports it later.
    while let Some(entry) = Entry::at(&data, at, kind, endian) {
        if let Some(start) = entry.augmentation {
            let string = data[start..].split(|&byte| byte == 0).next();
            let string = string.unwrap_or_default().to_vec();
            all.insert(
                at,
                Letters {
                    signal: string.contains(&b'S'),
                    key_b: string.contains(&b'B'),
                },
            );
            // Old strings without `z` (`eh`) mean something else by their letters.
            if string.starts_with(b"z") {
                for (index, _) in string
                    .iter()
                    .enumerate()
                    .filter(|(_, letter)| b"BG".contains(letter))
                {
                    data.to_mut()[start + index] = b'S';
                }
            }
        }
        at = entry.next;
    }
    (data, all)
}

/// An entry of the section. Offsets are from the section's start, in bytes.
struct Entry {
    /// The augmentation string, when the entry is a CIE.
    augmentation: Option<usize>,
    /// The next entry.
    next: usize,
}

impl Entry {
    /// The entry at an offset; `None` at the terminator, the end, or damage.
    fn at(data: &[u8], at: usize, kind: Kind, endian: RunTimeEndian) -> Option<Self> {
        let mut reader = EndianSlice::new(data.get(at..)?, endian);
        let whole = reader.len();
        let (length, format) = reader.read_initial_length().ok()?;
        if length == 0 {
            return None;
        }
        let body = at + (whole - reader.len());
        let mut entry = reader.split(length).ok()?;
        let id = entry.read_offset(format).ok()?;
        // After the id: one byte of version.
        let string = body + usize::from(format.word_size()) + 1;
        Some(Self {
            augmentation: (kind.is_cie(id, format) && string < body + length).then_some(string),
            next: body + length,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cie(augmentation: &[u8]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, 0, 1];
        body.extend_from_slice(augmentation);
        body.resize(body.len().next_multiple_of(4), 0);
        let length = u32::try_from(body.len()).unwrap();
        [length.to_le_bytes().to_vec(), body].concat()
    }

    #[test]
    fn refused_letters_are_replaced_and_remembered() {
        let first = cie(b"zR\0");
        let second = cie(b"zRBG\0");
        let third = cie(b"zRS\0");
        let data = [first.clone(), second.clone(), third.clone()].concat();
        let (patched, letters) = replace_letters(&data, Kind::EhFrame, RunTimeEndian::Little);
        let expected = [first.clone(), cie(b"zRSS\0"), third].concat();
        assert_eq!(*patched, *expected);
        let at = |offset: usize| letters[&offset];
        assert_eq!(at(0), Letters::default());
        assert_eq!(
            at(first.len()),
            Letters {
                signal: false,
                key_b: true
            }
        );
        assert_eq!(
            at(first.len() + second.len()),
            Letters {
                signal: true,
                key_b: false
            }
        );
    }

    #[test]
    fn damage_ends_the_walk() {
        let data = cie(b"zRB\0");
        for end in 0..data.len() {
            let (patched, _) = replace_letters(&data[..end], Kind::EhFrame, RunTimeEndian::Little);
            assert_eq!(patched.len(), end);
        }
    }
}
