//! Decodes a log, line by line.

use std::io::{self, Write};

use anstream::adapter::strip_str;
use unwind::symbols::are_of_one_function;

use super::json::{self, Found};
use super::line::{Line, Named, begins_report, moved_by};
use super::style::Style;
use super::symbolizer::{Answer, Symbolizer};
use crate::frames::Frames;
use crate::machine::PAGE;
use crate::report::Frame;
use crate::words::say;

/// The largest size of a line, in bytes, that is buffered until its end; a longer one goes through unchanged.
const MAX_LINE_SIZE: usize = 1 << 16;

/// Passes a log on, with names and lines added to its frames.
#[derive(Debug)]
pub struct Decoder<'a, W> {
    symbolizer: &'a Symbolizer,
    style: Style,
    out: W,
    /// The incomplete last line.
    line: Vec<u8>,
    /// How many bytes of this line are written already: then the rest has to follow unchanged.
    shown: usize,
    /// The beginning of this line was too long, and is written already.
    cut: bool,
    /// Frames are those of another image, until a line with a build id says otherwise.
    foreign: bool,
    /// The last frame was decoded, so the device's lines about inlined functions are redundant.
    after_frame: bool,
    /// The name of that frame's function, the one that has code of its own.
    function: String,
    /// Frames of another image are decoded, too.
    any_build: bool,
    /// How far the image lies above the addresses that it was linked for, modulo 2^64, as somebody has told.
    told: u64,
    /// The same, as this report has shown: another one may be of another boot.
    moved_by: u64,
    /// Decodes log frames.
    frames: Frames,
    summary: Summary,
}

/// How much was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lines.
    pub lines: u64,
    /// Frames that were decoded.
    pub frames: u64,
    /// Frames that were left alone because their report is of another image.
    pub foreign: u64,
}

impl<'a, W: Write> Decoder<'a, W> {
    /// A decoder that writes to `out`.
    pub fn new(symbolizer: &'a Symbolizer, style: Style, out: W) -> Self {
        Self {
            symbolizer,
            style,
            out,
            line: Vec::new(),
            shown: 0,
            cut: false,
            foreign: false,
            after_frame: false,
            function: String::new(),
            any_build: false,
            told: 0,
            moved_by: 0,
            frames: Frames::default(),
            summary: Summary {
                lines: 0,
                frames: 0,
                foreign: 0,
            },
        }
    }

    /// Decodes frames although their report has another build id.
    #[must_use]
    pub const fn any_build(mut self, any_build: bool) -> Self {
        self.any_build = any_build;
        self
    }

    /// The image lies so many bytes above the addresses that it was linked for, modulo 2^64, unless a report says something else.
    #[must_use]
    pub const fn moved_by(mut self, bytes: u64) -> Self {
        (self.told, self.moved_by) = (bytes, bytes);
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
                if !self.is_json() {
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
        if !self.is_json() && (self.shown > 0 || !self.line.starts_with(b" ")) {
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
        Ok(self.summary)
    }

    const fn is_json(&self) -> bool {
        matches!(self.style, Style::Json)
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let shown = std::mem::take(&mut self.shown);
        let cut = std::mem::take(&mut self.cut);
        self.summary.lines += 1;
        // Lines may end in "\r\n", some in several "\r".
        let end = line.iter().rposition(|byte| !b"\r\n".contains(byte));
        let (text, end) = line.split_at(end.map_or(0, |at| at + 1));
        let text = String::from_utf8_lossy(text);
        let plain = strip_str(&text).to_string();
        let parsed = Line::parse(&plain);
        if begins_report(&plain) || matches!(parsed, Line::Build(_)) {
            self.moved_by = moved_by(&plain).unwrap_or(self.told);
        }
        let decoded = match parsed {
            Line::Build(build) if !cut => {
                self.build(build);
                None
            }
            _ if shown > 0 || cut => None,
            Line::Frame(before, frame) => self.frame(before, &frame)?,
            // Other lines may be between the frame and this one.
            Line::Inlined if self.after_frame => Some(None),
            Line::TailCall { before, address } if self.after_frame => {
                self.tail_call(before, address)
            }
            Line::Named(named) => self.named(&named)?,
            Line::Addresses { before, addresses } => self.addresses(before, &addresses)?,
            Line::Build(_) | Line::Inlined | Line::TailCall { .. } | Line::Other => None,
        };
        match decoded {
            _ if self.is_json() => Ok(()),
            None => self.out.write_all(&line[shown..]),
            Some(None) => Ok(()),
            Some(Some(text)) => {
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

    /// Decodes a frame of a report; `None` if the line stays unchanged.
    fn frame(&mut self, before: &str, frame: &Frame<'_>) -> io::Result<Option<Option<String>>> {
        self.learn(frame);
        let exact = frame.letter == 'p';
        let found = Found {
            number: frame.number.trim_start().parse().ok(),
            how: Some(frame.letter),
            ..self.at(frame.address)
        };
        let answer = self.ask(found, exact)?;
        self.after_frame = answer.is_some();
        let Some(answer) = answer else {
            return Ok(None);
        };
        self.function = answer.outermost().to_owned();
        Ok(Some(Some(format!(
            "{}{}: {:#018x} {}{}{}",
            before,
            frame.number,
            frame.address,
            frame.letter,
            self.style
                .answer(&answer, self.linked(frame.address), before),
            frame.after,
        ))))
    }

    /// Learns where the image lies from a frame that the device has named: of a function that is only once in the image.
    fn learn(&mut self, frame: &Frame<'_>) {
        if self.foreign && !self.any_build {
            return;
        }
        let function = frame.named.as_ref().and_then(|named| {
            let function = self.symbolizer.find(named.source.name, named.size)?;
            // Another size is a sign of another build.
            let is_same = function.size == named.size;
            is_same.then(|| function.start.wrapping_add(named.offset))
        });
        if let Some(linked) = function {
            let by = frame.address.wrapping_sub(linked);
            // No loader moves an image by less than a page.
            if by.is_multiple_of(PAGE) {
                self.moved_by = by;
            }
        }
    }

    /// Names the function that made a tail call. The line is removed if that is an outlined part of the frame's own function,
    /// which a device without names cannot know. `None` if the line stays unchanged.
    fn tail_call(&self, before: &str, address: u64) -> Option<Option<String>> {
        let answer = self.symbolizer.answer(self.linked(address));
        let name = answer.outermost();
        if name.is_empty() {
            return None;
        }
        let same = are_of_one_function(name.bytes(), self.function.bytes());
        Some((!same).then(|| format!("{before}{name}")))
    }

    fn named(&mut self, named: &Named<'_>) -> io::Result<Option<Option<String>>> {
        let function = self.symbolizer.find(named.name, named.size);
        let Some(address) = function.and_then(|f| f.start.checked_add(named.offset)) else {
            return Ok(None);
        };
        let answer = self.ask(self.at(address.wrapping_add(self.moved_by)), named.exact)?;
        let indent = " ".repeat(named.before.len() - named.before.trim_start().len());
        Ok(answer.map(|answer| {
            let text = self.style.answer(&answer, address, &indent);
            // The answer begins with a space, which the line has already.
            Some(format!("{}{}{}", named.before, &text[1..], named.after))
        }))
    }

    fn addresses(&mut self, before: &str, all: &[u64]) -> io::Result<Option<Option<String>>> {
        let mut lines = Vec::new();
        let mut known = false;
        let indent = " ".repeat(before.len() - before.trim_start().len());
        for (at, address) in all.iter().enumerate() {
            let before = if at == 0 { before } else { &indent };
            let mut line = format!("{before}{address:#018x}");
            if let Some(answer) = self.ask(self.at(*address), false)? {
                known = true;
                line += &self.style.answer(&answer, self.linked(*address), &indent);
            }
            lines.push(line);
        }
        Ok(known.then(|| Some(lines.join("\n"))))
    }

    /// What the image has linked for an address of the device.
    const fn linked(&self, address: u64) -> u64 {
        address.wrapping_sub(self.moved_by)
    }

    const fn at(&self, address: u64) -> Found {
        Found {
            log_line: self.summary.lines,
            number: None,
            address,
            how: None,
        }
    }

    /// Looks up an address, or the call before it unless it is `exact`. In JSON style, writes the answer here.
    fn ask(&mut self, found: Found, exact: bool) -> io::Result<Option<Answer>> {
        let linked = self.linked(found.address);
        let code = self.symbolizer.is_code(linked);
        let foreign = self.foreign && !self.any_build;
        self.summary.foreign += u64::from(code && foreign);
        let looked_up = linked.saturating_sub(u64::from(!exact));
        let answer = (code && !foreign).then(|| self.symbolizer.answer(looked_up));
        let answer = answer.filter(|answer| !answer.sources.is_empty());
        self.summary.frames += u64::from(answer.is_some());
        // An address outside of the image is a frame only in a report.
        if self.is_json() && (answer.is_some() || found.number.is_some()) {
            let answer = answer.clone().unwrap_or_default();
            let object = json::object(found, linked, &answer).map_err(io::Error::other)?;
            writeln!(self.out, "{object}")?;
        }
        Ok(answer)
    }

    /// Compares the build id of a report with that of the image.
    fn build(&mut self, build: &str) {
        self.foreign = match self.symbolizer.build_id() {
            Some(id) => id != build,
            None => false,
        };
        let line = self.summary.lines;
        match self.symbolizer.build_id() {
            None => say(format_args!(
                "the image has no build id, so nobody knows whether the report of line {line} is of it ({build})"
            )),
            Some(id) if id != build => say(format_args!(
                "line {line}: the report is of build {build}, the image is build {id}: {}",
                if self.any_build {
                    "what is added may be wrong"
                } else {
                    "its frames are left as they are; --any-build decodes them all the same"
                }
            )),
            Some(_) => {}
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
