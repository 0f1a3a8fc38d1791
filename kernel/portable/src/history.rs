//! The history of typed lines.

/// The greatest length of a line, in bytes.
pub const SIZE: usize = 120;
/// Lines kept.
const LINES: usize = 16;

/// A line: printable ASCII.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; SIZE],
    length: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

impl Text {
    /// Creates an empty line.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bytes: [0; SIZE],
            length: 0,
        }
    }

    /// Returns the text of the line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether the line is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Inserts a character at `at`, and returns whether the line had space for it.
    ///
    /// # Panics
    /// Panics if `at` is greater than the length.
    pub fn insert(&mut self, at: usize, byte: u8) -> bool {
        let has_room = self.length < SIZE;
        if has_room {
            self.bytes.copy_within(at..self.length, at + 1);
            self.bytes[at] = byte;
            self.length += 1;
        }
        has_room
    }

    /// Removes the bytes `from..to`.
    ///
    /// # Panics
    /// Panics if `from` or `to` is greater than the length, or if `from` is greater than `to`.
    pub fn remove(&mut self, from: usize, to: usize) {
        self.bytes.copy_within(to..self.length, from);
        self.length -= to - from;
    }
}

/// The last lines, and the line that is shown.
#[derive(Debug)]
pub struct History {
    lines: [Text; LINES],
    /// Lines kept so far, also those that have been overwritten.
    count: usize,
    /// How many lines back the shown line is; 0 is the line that is being typed.
    back: usize,
    /// The line that was being typed before going back.
    draft: Text,
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

impl History {
    /// Creates an empty history.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            lines: [Text::new(); LINES],
            count: 0,
            back: 0,
            draft: Text::new(),
        }
    }

    /// Keeps a line, unless it is empty or equal to the last line.
    pub fn keep(&mut self, line: &Text) {
        self.back = 0;
        let is_last = self.count > 0 && self.line(1).as_str() == line.as_str();
        if !line.is_empty() && !is_last {
            self.lines[self.count % LINES] = *line;
            self.count += 1;
        }
    }

    /// Returns the line before the shown line, which is `current`.
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

    /// Returns the line after the shown line. After the last kept line, this is the line that was being typed.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str) -> Text {
        let mut text = Text::new();
        for byte in of.bytes() {
            assert!(text.insert(text.len(), byte));
        }
        text
    }

    fn up(history: &mut History, current: &str) -> Option<String> {
        let line = history.up(&text(current))?;
        Some(line.as_str().to_owned())
    }

    fn down(history: &mut History) -> Option<String> {
        Some(history.down()?.as_str().to_owned())
    }

    #[test]
    fn a_line_takes_what_it_has_room_for() {
        let mut line = text(&"x".repeat(SIZE));
        assert!(!line.insert(0, b'y'));
        line.remove(1, SIZE - 1);
        assert!(line.insert(1, b'y'));
        assert_eq!(line.as_str(), "xyx");
    }

    #[test]
    fn one_goes_back_and_comes_back_to_what_was_typed() {
        let mut history = History::new();
        for line in ["one", "", "two", "two", "three"] {
            history.keep(&text(line));
        }
        assert_eq!(up(&mut history, "dra").as_deref(), Some("three"));
        assert_eq!(up(&mut history, "three").as_deref(), Some("two"));
        assert_eq!(up(&mut history, "two").as_deref(), Some("one"));
        assert_eq!(up(&mut history, "one"), None);
        assert_eq!(down(&mut history).as_deref(), Some("two"));
        assert_eq!(down(&mut history).as_deref(), Some("three"));
        assert_eq!(down(&mut history).as_deref(), Some("dra"));
        assert_eq!(down(&mut history), None);
    }

    #[test]
    fn the_oldest_lines_are_forgotten() {
        let mut history = History::new();
        for number in 0..LINES + 3 {
            history.keep(&text(&number.to_string()));
        }
        let lines: Vec<_> = core::iter::from_fn(|| up(&mut history, "")).collect();
        let expected: Vec<_> = (3..LINES + 3).rev().map(|line| line.to_string()).collect();
        assert_eq!(lines, expected);
    }
}
