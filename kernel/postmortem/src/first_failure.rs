//! The first line of the first report, kept so that it can be repeated as the last line, because it may have scrolled off the screen, or a second
//! failure may have cut the report short.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Bytes kept; a longer line is cut off.
const SIZE: usize = 240;

/// The text of the first failure. Its bytes are atomic because a second failure reads them while they are being written.
#[derive(Debug)]
pub struct FirstFailure {
    text: [AtomicU8; SIZE],
    /// How many bytes of `text` are valid.
    length: AtomicUsize,
}

impl Default for FirstFailure {
    fn default() -> Self {
        Self::new()
    }
}

impl FirstFailure {
    /// An empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            text: [const { AtomicU8::new(0) }; SIZE],
            length: AtomicUsize::new(0),
        }
    }

    /// Appends text, as far as there is room.
    fn keep(&self, text: &str) {
        let mut length = self.length.load(Ordering::Relaxed);
        for (slot, byte) in self.text.iter().skip(length).zip(text.bytes()) {
            slot.store(byte, Ordering::Relaxed);
            length = length.saturating_add(1);
        }
        self.length.store(length, Ordering::Release);
    }

    /// Forgets the text, to keep another line.
    pub fn begin(&self) {
        self.length.store(0, Ordering::Release);
    }

    /// A writer that passes text on to `out`, and keeps it.
    pub fn keeping<'a>(&'a self, out: &'a mut dyn Write) -> impl Write + 'a {
        Keeping { kept: self, out }
    }

    /// Writes the line again, after the words `first failure: `.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn repeat(&self, out: &mut dyn Write) -> fmt::Result {
        out.write_str("first failure: ")?;
        let mut bytes = [0; SIZE];
        for chunk in self.copy(&mut bytes).utf8_chunks() {
            out.write_str(chunk.valid())?;
        }
        out.write_str("\n")
    }

    /// Calls `call` with the text. The last character may have been cut in the middle; then it is left out.
    pub fn with<R>(&self, call: impl FnOnce(&str) -> R) -> R {
        let mut bytes = [0; SIZE];
        let mut chunks = self.copy(&mut bytes).utf8_chunks();
        call(chunks.next().map_or("", |chunk| chunk.valid()))
    }

    fn copy<'b>(&self, bytes: &'b mut [u8; SIZE]) -> &'b [u8] {
        let length = self.length.load(Ordering::Acquire);
        for (byte, kept) in bytes.iter_mut().zip(&self.text).take(length) {
            *byte = kept.load(Ordering::Relaxed);
        }
        bytes.get(..length).unwrap_or_default()
    }
}

struct Keeping<'a> {
    kept: &'a FirstFailure,
    out: &'a mut dyn Write,
}

impl Write for Keeping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Sent before it is kept, so that it is on the line at least once, whatever fails next.
        self.out.write_str(text)?;
        self.kept.keep(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_repeated_as_one_line() {
        let (kept, mut out) = (FirstFailure::new(), String::new());
        write!(kept.keeping(&mut out), "panicked at {}", 7).expect("a string takes everything");
        assert_eq!(out, "panicked at 7");
        out.clear();
        kept.repeat(&mut out).expect("a string takes everything");
        assert_eq!(out, "first failure: panicked at 7\n");
    }

    #[test]
    fn a_character_that_is_cut_in_the_middle_is_left_out() {
        let (kept, mut out) = (FirstFailure::new(), String::new());
        let long = "x".repeat(SIZE - 1) + "ä";
        kept.keeping(&mut out)
            .write_str(&long)
            .expect("a string takes everything");
        assert_eq!(out, long);
        out.clear();
        kept.repeat(&mut out).expect("a string takes everything");
        assert_eq!(out, format!("first failure: {}\n", "x".repeat(SIZE - 1)));
    }
}
