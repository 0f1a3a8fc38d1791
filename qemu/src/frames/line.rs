//! Separates text and log frames on a serial line.

use portable::cut_off::CUT_OFF;

use super::Words;

/// The largest size of a log frame, in bytes.
const MAX_FRAME_SIZE: usize = 4096;

/// Decodes the bytes of a serial line to text.
#[derive(Debug, Default)]
pub struct Frames {
    /// The bytes so far of what may be a frame.
    frame: Option<Vec<u8>>,
    /// The last byte was zero.
    after_zero: bool,
    /// The last byte, which may begin text, came after a zero byte. Alone between two of them it is no text, but a byte of a frame
    /// that was on its way when a report cut that off.
    first: Option<u8>,
    /// The text so far does not end a line.
    line_is_open: bool,
}

impl Frames {
    /// Decodes more bytes. Text goes through at once, but for its first byte, which waits for the next one; a frame becomes a line at
    /// its end.
    #[must_use]
    pub fn add(&mut self, words: &Words, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        for byte in bytes {
            let begins = std::mem::replace(&mut self.after_zero, *byte == 0);
            if let Some(first) = self.first.take().filter(|_| *byte != 0) {
                self.begin_text(first, &mut text);
            }
            match &mut self.frame {
                Some(frame) if *byte != 0 => {
                    frame.push(*byte);
                    if frame.len() > MAX_FRAME_SIZE {
                        self.end_frame(words, &mut text);
                    }
                }
                Some(_) => self.end_frame(words, &mut text),
                None if begins && matches!(byte, 0x80..=0xbf | 0xff) => {
                    self.frame = Some(vec![*byte])
                }
                None if *byte == 0 => {}
                None if begins => self.first = Some(*byte),
                None => self.text(&[*byte], &mut text),
            }
        }
        text
    }

    /// Decodes the rest at the end of the line.
    #[must_use]
    pub fn finish(&mut self, words: &Words) -> Vec<u8> {
        let mut text = Vec::new();
        if let Some(first) = self.first.take() {
            self.begin_text(first, &mut text);
        }
        self.end_frame(words, &mut text);
        text
    }

    fn begin_text(&mut self, first: u8, text: &mut Vec<u8>) {
        if self.line_is_open {
            // The rest of a damaged frame.
            self.text(b"\n", text);
        }
        self.text(&[first], text);
    }

    fn text(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        if let Some(last) = bytes.last() {
            self.line_is_open = *last != b'\n';
            text.extend_from_slice(bytes);
        }
    }

    fn end_frame(&mut self, words: &Words, text: &mut Vec<u8>) {
        // Of one that was cut off the rest may decode as another one.
        let Some(frame) = self.frame.take().filter(|frame| !frame.ends_with(&CUT_OFF)) else {
            return;
        };
        // The frame may have text after it, if the zero byte between them was lost. Take the shortest valid frame, because the
        // text may look like any bytes.
        let whole = words.line(&frame).map(|line| (line, &[][..]));
        let found = whole.or_else(|| {
            let ends = (1..frame.len()).filter(|at| is_text(&frame[*at..]));
            let mut found = ends.filter_map(|at| Some((words.line(&frame[..at])?, &frame[at..])));
            found.next()
        });
        let (line, rest) = match found {
            Some((line, rest)) => (Some(line), rest),
            // A damaged frame: keep the text at its end, from the first whole line on if there is one.
            None => (None, text_suffix(&frame)),
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

/// The longest suffix of `bytes` that is text, if it is long enough not to be a few printable bytes of a frame.
fn text_suffix(bytes: &[u8]) -> &[u8] {
    /// The smallest size of such a suffix, in bytes.
    const MIN_SIZE: usize = 8;
    let mut ends = (0..bytes.len()).map(|at| &bytes[at..]);
    let end = ends.find(|end| is_text(end)).unwrap_or_default();
    if end.len() < MIN_SIZE { &[] } else { end }
}

/// Whether it is text as a kernel writes it: UTF-8 without control characters, except those of lines and colours.
fn is_text(bytes: &[u8]) -> bool {
    let is_usual = |c: char| !c.is_control() || "\n\r\t\x1b".contains(c);
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_usual))
}
