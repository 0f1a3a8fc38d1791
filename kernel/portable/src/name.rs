//! A task's name, which a report can read at any time.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU8, Ordering};

/// Bytes kept; a longer name is cut off.
const SIZE: usize = 15;

/// A name in atomic bytes. If it is read while it is written, the result may be a mixture of both names.
#[repr(C)]
#[derive(Debug)]
pub struct Name {
    bytes: [AtomicU8; SIZE],
    length: AtomicU8,
}

impl Name {
    /// Creates a name, as the value of a static.
    ///
    /// # Panics
    /// Panics if the name has more than 15 bytes.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        assert!(
            text.len() <= SIZE,
            "the name of a task is longer than 15 bytes"
        );
        let mut bytes = [0; SIZE];
        let (name, _) = bytes.split_at_mut(text.len());
        name.copy_from_slice(text.as_bytes());
        let mut name = Self {
            bytes: [const { AtomicU8::new(0) }; SIZE],
            length: AtomicU8::new(text.len() as u8),
        };
        let mut index = 0;
        while index < SIZE {
            name.bytes[index] = AtomicU8::new(bytes[index]);
            index += 1;
        }
        name
    }

    /// Changes the name.
    pub fn set(&self, text: &str) {
        let length = text.floor_char_boundary(SIZE);
        for (byte, new) in self.bytes.iter().zip(text[..length].bytes()) {
            byte.store(new, Ordering::Relaxed);
        }
        self.length.store(length as u8, Ordering::Relaxed);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = usize::from(self.length.load(Ordering::Relaxed));
        let mut bytes = [0; SIZE];
        for (byte, kept) in bytes.iter_mut().zip(&self.bytes).take(length) {
            *byte = kept.load(Ordering::Relaxed);
        }
        for chunk in bytes[..length.min(SIZE)].utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let name = Name::new("main");
        assert_eq!(name.to_string(), "main");
        name.set("a name of many bytes");
        assert_eq!(name.to_string(), "a name of many ");
        name.set("fourteen bytes\u{e9}");
        assert_eq!(name.to_string(), "fourteen bytes");
        name.set("");
        assert_eq!(name.to_string(), "");
    }

    /// What a report reads while a name is being written.
    #[test]
    fn a_mixture_of_two_names_can_be_shown() {
        let name = Name::new("\u{e9}t\u{e9}");
        name.bytes[0].store(b'a', Ordering::Relaxed);
        assert_eq!(name.to_string(), "a\u{fffd}t\u{e9}");
        name.length.store(200, Ordering::Relaxed);
        assert!(name.to_string().starts_with("a\u{fffd}t\u{e9}"));
    }
}
