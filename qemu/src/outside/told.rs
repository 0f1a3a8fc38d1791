//! The text of a report from outside: lines of walks, which get names, files and lines, and other lines, which stay as they are.

use std::fmt;

use super::image::Image;
use crate::decode::{Decoder, Style, Symbolizer};

/// A report. What is written to it stays as it is: names of tasks and locks are from the machine's memory, and what looks like a frame
/// there is none.
#[derive(Debug)]
pub(super) struct Told<'a> {
    text: String,
    image: &'a Image,
    symbolizer: &'a Symbolizer,
}

impl<'a> Told<'a> {
    /// An empty report about this image.
    pub(super) const fn new(image: &'a Image, symbolizer: &'a Symbolizer) -> Self {
        Self {
            text: String::new(),
            image,
            symbolizer,
        }
    }

    /// Adds the lines of a walk, with names. Nothing in them is from the machine but numbers.
    pub(super) fn add_walk(&mut self, lines: &str) -> fmt::Result {
        if self.image.is_another() {
            self.text += lines;
            return Ok(());
        }
        let (mut named, style) = (Vec::new(), Style::short());
        let decoder = Decoder::new(self.symbolizer, style, &mut named);
        let mut decoder = decoder.moved_by(self.image.moved_by);
        let added = decoder.add(lines.as_bytes());
        // There is always memory.
        added
            .and_then(|()| decoder.finish())
            .map_err(|_| fmt::Error)?;
        self.text += &String::from_utf8_lossy(&named);
        Ok(())
    }

    /// The text.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl fmt::Write for Told<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text += text;
        Ok(())
    }
}
