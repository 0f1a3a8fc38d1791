//! Writes the text of the previous boot as marked lines.

use core::fmt::{self, Write};

/// Writes lines with a mark before each, so that no old report is taken for a new one.
pub(super) struct Lines<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) is_open: bool,
    /// The beginning of the current line is lost, so the rest of it is skipped.
    pub(super) is_cut: bool,
}

impl Lines<'_> {
    pub(super) fn byte(&mut self, byte: u8) -> fmt::Result {
        if self.is_cut {
            self.is_cut = byte != b'\n';
            return Ok(());
        }
        if !self.is_open {
            self.out.write_str("| ")?;
            self.is_open = true;
        }
        match byte {
            b'\n' => self.end(),
            b' '..=b'~' => self.out.write_char(char::from(byte)),
            // Not decoded as UTF-8: other characters are rare in a kernel's text, and a part may begin in the middle of one.
            _ => self.out.write_char('.'),
        }
    }

    /// Text is lost here, because its checksum is wrong, perhaps with the beginning of the next line.
    pub(super) fn lost(&mut self) -> fmt::Result {
        self.end()?;
        self.is_cut = true;
        self.out
            .write_str("| -- text omitted, because its checksum is wrong --\n")
    }

    pub(super) fn end(&mut self) -> fmt::Result {
        match core::mem::take(&mut self.is_open) {
            true => self.out.write_str("\n"),
            false => Ok(()),
        }
    }
}
