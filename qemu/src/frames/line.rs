//! Text and frames of a line apart.

use super::Words;

/// Bytes of a frame; what is longer is none.
const LONGEST: usize = 4096;

/// Takes a line's bytes, and gives text.
#[derive(Debug, Default)]
pub struct Frames {
    /// Inside what may be a frame: its bytes so far.
    frame: Option<Vec<u8>>,
    /// The last byte was zero.
    after_zero: bool,
    /// The last of the text so far was not the end of a line.
    line_is_open: bool,
}

impl Frames {
    /// Takes more bytes; text goes through as it comes, a frame is a line when its end has come.
    #[must_use]
    pub fn add(&mut self, words: &Words, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        for byte in bytes {
            let begins = std::mem::replace(&mut self.after_zero, *byte == 0);
            match &mut self.frame {
                Some(frame) if *byte != 0 => {
                    frame.push(*byte);
                    if frame.len() > LONGEST {
                        self.end_frame(words, &mut text);
                    }
                }
                Some(_) => self.end_frame(words, &mut text),
                None if begins && matches!(byte, 0x80..=0xbf) => self.frame = Some(vec![*byte]),
                None if *byte == 0 => {}
                None => {
                    if begins && self.line_is_open {
                        // What is left of a damaged frame.
                        self.text(b"\n", &mut text);
                    }
                    self.text(&[*byte], &mut text);
                }
            }
        }
        text
    }

    /// The rest, when no more bytes come.
    #[must_use]
    pub fn finish(&mut self, words: &Words) -> Vec<u8> {
        let mut text = Vec::new();
        self.end_frame(words, &mut text);
        text
    }

    fn text(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        if let Some(last) = bytes.last() {
            self.line_is_open = *last != b'\n';
            text.extend_from_slice(bytes);
        }
    }

    fn end_frame(&mut self, words: &Words, text: &mut Vec<u8>) {
        let Some(frame) = self.frame.take() else {
            return;
        };
        // Whole, or with text behind, because the zero byte between them was lost. The shortest, since trailing text may
        // look like anything.
        let whole = words.line(&frame).map(|line| (line, &[][..]));
        let found = whole.or_else(|| {
            let ends = (1..frame.len()).filter(|at| is_text(&frame[*at..]));
            let mut found = ends.filter_map(|at| Some((words.line(&frame[..at])?, &frame[at..])));
            found.next()
        });
        let (line, rest) = match found {
            Some((line, rest)) => (Some(line), rest),
            // What can be text at its end is, from the first whole line on if there is one.
            None => (None, text_behind(&frame)),
        };
        if self.line_is_open && (line.is_some() || !rest.is_empty()) {
            self.text(b"\n", text);
        }
        if let Some(line) = line {
            self.text(line.as_bytes(), text);
            self.text(b"\n", text);
        }
        self.text(rest, text);
    }
}

/// The longest end of `bytes` that is text and of some length, so that a few printable bytes of a frame are not taken for it.
fn text_behind(bytes: &[u8]) -> &[u8] {
    /// Bytes.
    const SOME: usize = 8;
    let mut ends = (0..bytes.len()).map(|at| &bytes[at..]);
    let end = ends.find(|end| is_text(end)).unwrap_or_default();
    if end.len() < SOME { &[] } else { end }
}

/// Whether it is what a kernel writes as text: UTF-8 without control characters but those of lines and colours.
fn is_text(bytes: &[u8]) -> bool {
    let is_usual = |c: char| !c.is_control() || "\n\r\t\x1b".contains(c);
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_usual))
}
