//! Text that is kept until it is shown.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Text in memory that the kernel provides. Bytes that do not fit are counted. There is no lock: CPUs that append at the same time only mix
/// up the text.
#[derive(Debug)]
pub struct Text {
    bytes: &'static [AtomicU8],
    /// How many bytes were appended, also those that did not fit.
    appended: AtomicUsize,
}

impl Text {
    /// Creates an empty text in this memory.
    ///
    /// ```
    /// # use core::sync::atomic::AtomicU8;
    /// static BYTES: [AtomicU8; 65536] = [const { AtomicU8::new(0) }; 65536];
    /// static TEXT: screen::Text = screen::Text::new(&BYTES);
    /// ```
    #[must_use]
    pub const fn new(bytes: &'static [AtomicU8]) -> Self {
        Self {
            bytes,
            appended: AtomicUsize::new(0),
        }
    }

    pub(crate) fn clear(&self) {
        self.appended.store(0, Ordering::Relaxed);
    }

    pub(crate) fn append(&self, bytes: &[u8]) {
        let at = self.appended.fetch_add(bytes.len(), Ordering::Relaxed);
        let slots = self.bytes.get(at..).unwrap_or_default();
        for (slot, byte) in slots.iter().zip(bytes) {
            slot.store(*byte, Ordering::Relaxed);
        }
    }

    /// How many bytes did not fit.
    pub(crate) fn lost(&self) -> usize {
        let appended = self.appended.load(Ordering::Relaxed);
        appended.saturating_sub(self.bytes.len())
    }

    /// What is kept, from this byte on.
    pub(crate) fn from(&self, start: usize) -> Bytes<'_> {
        self.between(start, self.appended.load(Ordering::Relaxed))
    }

    pub(crate) fn between(&self, start: usize, end: usize) -> Bytes<'_> {
        let end = end.min(self.bytes.len());
        Bytes(self.bytes.get(start..end).unwrap_or_default())
    }
}

/// A part of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(&'a [AtomicU8]);

impl<'a> Bytes<'a> {
    pub(crate) fn iter(self) -> impl Iterator<Item = u8> + Clone + 'a {
        self.0.iter().map(|byte| byte.load(Ordering::Relaxed))
    }

    pub(crate) const fn len(self) -> usize {
        self.0.len()
    }

    pub(crate) fn starts_with(self, text: &str) -> bool {
        self.len() >= text.len()
            && self
                .iter()
                .zip(text.bytes())
                .all(|(one, other)| one == other)
    }

    /// Its characters, with U+FFFD for each byte that is none.
    pub(crate) fn characters(self) -> impl Iterator<Item = char> + Clone + 'a {
        let mut rest = self;
        core::iter::from_fn(move || {
            let first = rest.iter().next()?;
            let length = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            let mut character = [0; 4];
            for (slot, byte) in character.iter_mut().zip(rest.iter().take(length)) {
                *slot = byte;
            }
            let text = core::str::from_utf8(character.get(..length)?);
            let found = text.ok().and_then(|text| text.chars().next());
            let used = found.map_or(1, char::len_utf8);
            rest = Bytes(rest.0.get(used..).unwrap_or_default());
            Some(found.unwrap_or(char::REPLACEMENT_CHARACTER))
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;

    static BYTES: [AtomicU8; 16] = [const { AtomicU8::new(0) }; 16];

    #[test]
    fn what_does_not_fit_is_counted() {
        let text = Text::new(&BYTES);
        text.append("größe".as_bytes());
        text.append(b"\xff and more than fits");
        let kept: String = text.from(0).characters().collect();
        assert_eq!(kept, "größe\u{fffd} and mor");
        assert_eq!(text.lost(), 11);
        // A character whose end did not fit.
        text.clear();
        text.append("fifteen bytes..ö".as_bytes());
        let kept: String = text.from(0).characters().collect();
        assert_eq!(kept, "fifteen bytes..\u{fffd}");
        assert_eq!(text.from(17).len(), 0);
    }
}
