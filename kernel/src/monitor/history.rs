//! The lines that were typed before.

/// Bytes of a line. More are refused: nothing here grows.
pub const SIZE: usize = 120;
/// Lines kept.
const LINES: usize = 16;

/// A line: printable ASCII.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; SIZE],
    length: usize,
}

impl Text {
    /// An empty line.
    pub const fn new() -> Self {
        Self {
            bytes: [0; SIZE],
            length: 0,
        }
    }

    /// What is in it.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    /// Bytes in it.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Puts a character at a place; whether there was room.
    pub fn insert(&mut self, at: usize, byte: u8) -> bool {
        let has_room = self.length < SIZE;
        if has_room {
            self.bytes.copy_within(at..self.length, at + 1);
            self.bytes[at] = byte;
            self.length += 1;
        }
        has_room
    }

    /// Takes out what is between two places.
    pub fn remove(&mut self, from: usize, to: usize) {
        self.bytes.copy_within(to..self.length, from);
        self.length -= to - from;
    }
}

/// The last lines, and which of them is looked at.
#[derive(Debug)]
pub struct History {
    lines: [Text; LINES],
    /// Lines kept so far, also those that have been overwritten.
    count: usize,
    /// How many lines back one has gone; 0 is the line that is being typed.
    back: usize,
    /// What was typed before one went back.
    draft: Text,
}

impl History {
    /// No lines.
    pub const fn new() -> Self {
        Self {
            lines: [Text::new(); LINES],
            count: 0,
            back: 0,
            draft: Text::new(),
        }
    }

    /// Keeps a line, unless it is empty or was the last one too.
    pub fn keep(&mut self, line: &Text) {
        self.back = 0;
        let is_last = self.count > 0 && self.line(1).as_str() == line.as_str();
        if line.len() > 0 && !is_last {
            self.lines[self.count % LINES] = *line;
            self.count += 1;
        }
    }

    /// The line before the one looked at, which is `current`.
    pub fn up(&mut self, current: &Text) -> Option<&Text> {
        if self.back == self.count.min(LINES) {
            return None;
        }
        if self.back == 0 {
            self.draft = *current;
        }
        self.back += 1;
        Some(self.line(self.back))
    }

    /// The line after the one looked at, at last the one that was being typed.
    pub fn down(&mut self) -> Option<&Text> {
        self.back = self.back.checked_sub(1)?;
        Some(match self.back {
            0 => &self.draft,
            back => self.line(back),
        })
    }

    fn line(&self, back: usize) -> &Text {
        &self.lines[(self.count - back) % LINES]
    }
}
