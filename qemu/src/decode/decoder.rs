//! Takes a log in pieces of bytes, and passes it on line by line, decoded.

use std::io::{self, Write};

use anstream::adapter::strip_str;

use super::lines::{Decoded, Lines, Part, Summary};
use super::moved::Moved;
use super::style::Style;
use super::symbolizer::Symbolizer;
use crate::frames::Frames;

/// The largest size of a line, in bytes, that is buffered until its end; a longer one goes through unchanged.
const MAX_LINE_SIZE: usize = 1 << 16;

/// Passes a log on, with names and lines added to its frames.
#[derive(Debug)]
pub struct Decoder<'a, W> {
    symbolizer: &'a Symbolizer,
    out: W,
    /// The incomplete last line.
    line: Vec<u8>,
    /// How many bytes of this line are written already: then the rest has to follow unchanged.
    shown: usize,
    /// The beginning of this line was too long, and is written already.
    cut: bool,
    /// Decodes log frames.
    frames: Frames,
    lines: Lines<'a>,
}

impl<'a, W: Write> Decoder<'a, W> {
    /// A decoder that writes to `out`.
    pub fn new(symbolizer: &'a Symbolizer, style: Style, out: W) -> Self {
        Self {
            symbolizer,
            out,
            line: Vec::new(),
            shown: 0,
            cut: false,
            frames: Frames::default(),
            lines: Lines::new(symbolizer, style),
        }
    }

    /// Decodes frames although their report has another build id.
    #[must_use]
    pub const fn any_build(mut self, any_build: bool) -> Self {
        self.lines.any_build = any_build;
        self
    }

    /// The image lies so many bytes above the addresses that it was linked for, modulo 2^64, unless a report says something else.
    #[must_use]
    pub const fn moved_by(mut self, bytes: u64) -> Self {
        self.lines.moved = Moved::by(bytes);
        self
    }

    /// Decodes more of the log.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.symbolizer.words() {
            Some(words) => {
                let text = self.frames.add(words, bytes);
                self.add_text(&text)
            }
            None => self.add_text(bytes),
        }
    }

    fn add_text(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line()?;
            } else if self.line.len() > MAX_LINE_SIZE {
                if !self.lines.is_json() {
                    self.show_rest()?;
                }
                self.line.clear();
                // The next bytes continue this line.
                self.shown = 0;
                self.cut = true;
            }
        }
        Ok(())
    }

    /// Writes an incomplete line, such as a prompt. The rest of that line goes through unchanged. A line that begins with a
    /// space, as frames do, stays buffered.
    ///
    /// # Errors
    /// Those of the output.
    pub fn show(&mut self) -> io::Result<()> {
        if !self.lines.is_json() && (self.shown > 0 || !self.line.starts_with(b" ")) {
            self.show_rest()?;
        }
        self.out.flush()
    }

    fn show_rest(&mut self) -> io::Result<()> {
        let rest = &self.line[self.shown..];
        self.out.write_all(rest)?;
        self.shown = self.line.len();
        Ok(())
    }

    /// Decodes the last line, which may be incomplete, and returns how much was decoded.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<Summary> {
        if let Some(words) = self.symbolizer.words() {
            let text = self.frames.finish(words);
            self.add_text(&text)?;
        }
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.out.flush()?;
        Ok(self.lines.summary)
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let shown = std::mem::take(&mut self.shown);
        let cut = std::mem::take(&mut self.cut);
        // Lines may end in "\r\n", some in several "\r".
        let end = line.iter().rposition(|byte| !b"\r\n".contains(byte));
        let (text, end) = line.split_at(end.map_or(0, |at| at + 1));
        let text = String::from_utf8_lossy(text);
        let part = match (cut, shown > 0) {
            (true, _) => Part::End,
            (false, true) => Part::Shown,
            (false, false) => Part::Whole,
        };
        let decoded = self.lines.decode(&strip_str(&text).to_string(), part)?;
        match decoded {
            Decoded::Objects(objects) => self.out.write_all(objects.as_bytes()),
            Decoded::Same => self.out.write_all(&line[shown..]),
            Decoded::Removed => Ok(()),
            Decoded::Text(text) => {
                let end = if end.is_empty() { b"\n" } else { end };
                // Added lines end like the original one.
                let text = text.as_bytes().split(|byte| *byte == b'\n');
                for line in text {
                    self.out.write_all(line)?;
                    self.out.write_all(end)?;
                }
                Ok(())
            }
        }
    }
}

/// A writer that flushes by [`show`](Decoder::show).
impl<W: Write> Write for Decoder<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.show()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This very program.
    fn symbolizer() -> Symbolizer {
        let program = std::env::current_exe().expect("this program has a path");
        Symbolizer::open(&program).expect("it can be read")
    }

    #[test]
    fn a_prompt_is_shown_and_a_frame_is_not_torn() {
        let symbolizer = symbolizer();
        let function = symbolizer
            .find("rust_eh_personality", 0)
            .expect("a function");
        let frame = format!("   0: {:#018x} p", function.start);
        let mut shown = Vec::new();
        let mut decoder = Decoder::new(&symbolizer, Style::plain(), &mut shown);
        for piece in ["> ", "bt\n", &frame[..9], &frame[9..], "\n> "] {
            decoder.add(piece.as_bytes()).expect("memory takes it");
            decoder.show().expect("memory takes it");
        }
        // In one piece, but shown in part: it stays as it is.
        decoder.add(frame.as_bytes()).expect("memory takes it");
        decoder.add(b"\n").expect("memory takes it");
        let summary = decoder.finish().expect("memory takes it");
        let shown = String::from_utf8(shown).expect("UTF-8");
        let decoded = format!("> bt\n{frame} rust_eh_personality+0x0");
        assert!(shown.starts_with(&decoded), "{shown}");
        assert!(shown.ends_with(&format!("\n> {frame}\n")), "{shown}");
        assert_eq!((summary.lines, summary.frames), (3, 1));
    }

    /// The build id of an earlier report proves nothing about a report without a build id.
    #[test]
    fn a_report_without_a_build_id_has_not_that_of_the_one_before() {
        let symbolizer = symbolizer();
        let id = symbolizer.build_id().expect("the linker makes one");
        let function = symbolizer.find("rust_eh_personality", 0);
        let start = function.expect("a function").start;
        let nameless = format!("   1: {start:#018x} p");
        let named = format!("   0: {start:#018x} p another+0x0/0x10");
        let report = |id: &str| format!("x86_64, {id}, tables verified\n{named}\n{nameless}\n");
        let decoded = |log: &str| {
            let mut shown = Vec::new();
            let mut decoder = Decoder::new(&symbolizer, Style::plain(), &mut shown);
            decoder.add(log.as_bytes()).expect("memory takes it");
            decoder.finish().expect("memory takes it");
            String::from_utf8(shown).expect("UTF-8")
        };
        let [same, unknown] =
            [format!("build {id}"), "no build id".to_owned()].map(|id| report(&id));
        let both = decoded(&format!("{same}{unknown}"));
        assert!(both.contains(&format!("{nameless} rust_eh")), "{both}");
        assert!(both.ends_with(&unknown), "{both}");
    }

    /// No loader moves two functions by two distances.
    #[test]
    fn a_list_at_two_distances_is_of_another_image() {
        let symbolizer = symbolizer();
        let frame = |number: u32, name: &str, by: u64| {
            let function = symbolizer.find(name, 0).expect("a function");
            let (address, size) = (function.start + by, function.size);
            format!("{number:>4}: {address:#018x} p {name}+0x0/{size:#x}\n")
        };
        let [first, second, moved] = [
            frame(0, "rust_eh_personality", 0),
            frame(1, "main", 0),
            frame(1, "main", 0x1000),
        ];
        let moved_first = frame(0, "rust_eh_personality", 0x1000);
        let decoded = |log: &str| {
            let mut decoder = Decoder::new(&symbolizer, Style::plain(), Vec::new());
            decoder.add(log.as_bytes()).expect("memory takes it");
            decoder.finish().expect("memory takes it").foreign
        };
        assert_eq!(decoded(&format!("{first}{second}")), 0);
        assert_eq!(decoded(&format!("{moved_first}{moved}")), 0);
        // Another boot.
        assert_eq!(decoded(&format!("{first}{second}{moved_first}{moved}")), 0);
        assert_eq!(decoded(&format!("{first}{moved}")), 1);
        assert_eq!(decoded(&format!("{moved_first}{second}{moved}")), 2);
    }

    #[test]
    fn a_line_without_an_end_goes_through() {
        let symbolizer = symbolizer();
        let mut shown = Vec::new();
        let mut decoder = Decoder::new(&symbolizer, Style::plain(), &mut shown);
        let long = vec![b'x'; 3 * MAX_LINE_SIZE];
        for piece in long.chunks(1000) {
            decoder.add(piece).expect("memory takes it");
        }
        decoder.finish().expect("memory takes it");
        assert_eq!(shown, long);
    }
}
