//! The line editor.
//!
//! The crates for it were rejected. `noline` queries the terminal for its cursor and waits for the answer, which a script on a serial line
//! never gives. `embedded-cli` supports only half of the keys. This editor needs no answer: the terminal only moves by characters, and
//! erases to the end of the line.

use core::fmt::{self, Write};

use crate::history::{History, Text};
use crate::keys::Key;

/// The result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The line is not complete.
    Editing,
    /// The line is complete: see [`Editor::text`].
    Line,
    /// The line was discarded.
    Dropped,
    /// There are no more lines.
    End,
}

/// A line, with a cursor in it, and the lines before it.
#[derive(Debug)]
pub struct Editor {
    line: Text,
    cursor: usize,
    history: History,
    prompt: &'static str,
    word: Words,
}

/// A function that returns the word with this index among the words that Tab completes; `None` after the last word.
pub type Words = fn(usize) -> Option<&'static str>;

impl Editor {
    /// Creates an empty line without history. `prompt` is the text before the line.
    #[must_use]
    pub const fn new(prompt: &'static str, word: Words) -> Self {
        Self {
            line: Text::new(),
            cursor: 0,
            history: History::new(),
            prompt,
            word,
        }
    }

    /// Returns the typed text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.line.as_str()
    }

    /// Keeps the line in the history, and begins an empty line.
    pub fn finish(&mut self) {
        self.history.keep(&self.line);
        self.line = Text::new();
        self.cursor = 0;
    }

    /// Applies a key, and shows the result.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn press(&mut self, key: Key, out: &mut impl Write) -> Result<Input, fmt::Error> {
        let end = self.line.len();
        match key {
            Key::Character(byte) => self.insert(byte, out)?,
            Key::Backspace => self.remove(self.cursor.saturating_sub(1), self.cursor, out)?,
            Key::DeleteOrEnd if end == 0 => {
                out.write_str("\n")?;
                return Ok(Input::End);
            }
            Key::Delete | Key::DeleteOrEnd => {
                self.remove(self.cursor, end.min(self.cursor + 1), out)?;
            }
            Key::KillBefore => self.remove(0, self.cursor, out)?,
            Key::KillAfter => self.remove(self.cursor, end, out)?,
            Key::KillWord => self.remove(self.word_before(), self.cursor, out)?,
            Key::Left => self.go(self.cursor.saturating_sub(1), out)?,
            Key::Right => self.go(end.min(self.cursor + 1), out)?,
            Key::WordLeft => self.go(self.word_before(), out)?,
            Key::WordRight => self.go(self.word_after(), out)?,
            Key::Home => self.go(0, out)?,
            Key::End => self.go(end, out)?,
            Key::Up => {
                if let Some(line) = self.history.up(&self.line).copied() {
                    self.replace(line, out)?;
                }
            }
            Key::Down => {
                if let Some(line) = self.history.down().copied() {
                    self.replace(line, out)?;
                }
            }
            Key::Clear => self.clear_screen(out)?,
            Key::Complete => self.complete(out)?,
            Key::Enter => {
                out.write_str("\n")?;
                return Ok(Input::Line);
            }
            Key::Cancel => {
                out.write_str("^C\n")?;
                self.line = Text::new();
                return Ok(Input::Dropped);
            }
        }
        Ok(Input::Editing)
    }

    fn insert(&mut self, byte: u8, out: &mut impl Write) -> fmt::Result {
        if !self.line.insert(self.cursor, byte) {
            return bell(out);
        }
        out.write_str(&self.text()[self.cursor..])?;
        self.cursor += 1;
        back(self.line.len() - self.cursor, out)
    }

    /// Deletes `from..to`, one of which is the cursor.
    fn remove(&mut self, from: usize, to: usize, out: &mut impl Write) -> fmt::Result {
        if from == to {
            return Ok(());
        }
        self.go(from, out)?;
        self.line.remove(from, to);
        out.write_str(&self.text()[from..])?;
        out.write_str("\x1b[K")?;
        back(self.line.len() - from, out)
    }

    /// Moves the cursor.
    fn go(&mut self, to: usize, out: &mut impl Write) -> fmt::Result {
        if let Some(right) = to.checked_sub(self.cursor) {
            out.write_str(&self.text()[to - right..to])?;
        } else {
            back(self.cursor - to, out)?;
        }
        self.cursor = to;
        Ok(())
    }

    fn replace(&mut self, line: Text, out: &mut impl Write) -> fmt::Result {
        self.go(0, out)?;
        self.line = line;
        self.cursor = line.len();
        out.write_str("\x1b[K")?;
        out.write_str(self.text())
    }

    /// Clears the screen, and shows the line at its top.
    fn clear_screen(&mut self, out: &mut impl Write) -> fmt::Result {
        let cursor = self.cursor;
        self.go(0, out)?;
        write!(out, "\x1b[H\x1b[2J{}{}", self.prompt, self.text())?;
        self.cursor = self.line.len();
        self.go(cursor, out)
    }

    /// Completes a word, if only one word begins with the typed text.
    fn complete(&mut self, out: &mut impl Write) -> fmt::Result {
        let typed = self.text();
        let words = (0..).map_while(self.word);
        let mut fitting = words.filter_map(|word| word.strip_prefix(typed));
        match (fitting.next(), fitting.next()) {
            (Some(rest), None) if self.cursor == typed.len() => {
                for byte in rest.bytes().chain([b' ']) {
                    self.insert(byte, out)?;
                }
                Ok(())
            }
            _ => bell(out),
        }
    }

    /// Where the word at or before the cursor begins.
    fn word_before(&self) -> usize {
        let before = self.text()[..self.cursor].trim_end_matches(' ');
        before.rfind(' ').map_or(0, |space| space + 1)
    }

    /// Where the word at or after the cursor ends.
    fn word_after(&self) -> usize {
        let after = &self.text()[self.cursor..];
        let spaces = after.len() - after.trim_start_matches(' ').len();
        let word = after[spaces..].find(' ');
        word.map_or(self.line.len(), |word| self.cursor + spaces + word)
    }
}

/// Rings the bell: the key has no effect.
fn bell(out: &mut impl Write) -> fmt::Result {
    out.write_str("\x07")
}

/// Moves the terminal's cursor to the left.
fn back(by: usize, out: &mut impl Write) -> fmt::Result {
    match by {
        0 => Ok(()),
        _ => write!(out, "\x1b[{by}D"),
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZero;

    use vt100::Parser;

    use super::*;
    use crate::keys::Keys;

    const WORDS: [&str; 3] = ["help", "heap", "exit"];

    fn size(of: u16) -> NonZero<u16> {
        NonZero::new(of).expect("not zero")
    }

    /// An editor, and the terminal that shows it.
    struct Desk {
        keys: Keys,
        editor: Editor,
        terminal: Parser,
        input: Input,
    }

    impl Desk {
        fn new() -> Self {
            let mut desk = Self {
                keys: Keys::new(),
                editor: Editor::new("> ", |index| WORDS.get(index).copied()),
                terminal: Parser::new(size(4), size(160), 0),
                input: Input::Editing,
            };
            desk.terminal.process(b"> ");
            desk
        }

        /// Presses keys, after each of which the terminal must show the line, with its cursor where it is.
        fn press(&mut self, bytes: &str) -> &mut Self {
            for byte in bytes.bytes() {
                let Some(key) = self.keys.take(byte) else {
                    continue;
                };
                let mut out = String::new();
                self.input = self
                    .editor
                    .press(key, &mut out)
                    .expect("text can be written");
                // As a serial line does.
                self.terminal.process(out.replace('\n', "\r\n").as_bytes());
                if self.input == Input::Editing {
                    let shown = self.terminal.screen().rows(0, 160).next();
                    let shown = shown.unwrap_or_default();
                    let line = format!("> {}", self.editor.text());
                    assert_eq!(shown.trim_end(), line.trim_end(), "{key:?}");
                    let (_, column) = self.terminal.screen().cursor_position();
                    assert_eq!(usize::from(column), 2 + self.editor.cursor, "{key:?}");
                }
            }
            self
        }

        #[track_caller]
        fn expect(&self, text: &str) {
            assert_eq!(self.editor.text(), text);
        }
    }

    #[test]
    fn what_is_typed_is_there() {
        Desk::new().press("lookup 10").expect("lookup 10");
    }

    #[test]
    fn the_cursor_goes_and_what_is_typed_goes_where_it_is() {
        let mut desk = Desk::new();
        desk.press("ac\x02b").expect("abc");
        desk.press("\x01<\x05>").expect("<abc>");
        desk.press("\x02\x02\x7f").expect("<ac>");
        desk.press("\x1b[3~").expect("<a>");
        // Nowhere to go on to.
        desk.press("\x01\x02\x7f\x05\x06\x1b[3~").expect("<a>");
    }

    #[test]
    fn words_are_gone_over_and_taken_out() {
        let mut desk = Desk::new();
        desk.press("one  two three\x1bb\x1bb*")
            .expect("one  *two three");
        desk.press("\x1bf*").expect("one  *two* three");
        desk.press("\x17").expect("one   three");
        desk.press("\x0b").expect("one  ");
        desk.press("\x15").expect("");
    }

    #[test]
    fn a_word_is_completed_if_it_is_the_only_one() {
        let mut desk = Desk::new();
        desk.press("he\t").expect("he");
        desk.press("l\t").expect("help ");
        desk.press("\t").expect("help ");
    }

    #[test]
    fn lines_come_back() {
        let mut desk = Desk::new();
        for line in ["one\r", "two\r"] {
            desk.press(line);
            assert_eq!(desk.input, Input::Line);
            desk.editor.finish();
            desk.terminal.process(b"\x1b[H\x1b[2J> ");
        }
        desk.press("th\x10\x10").expect("one");
        desk.press("\x0e").expect("two");
        desk.press("\x0e").expect("th");
    }

    #[test]
    fn a_line_ends_in_several_ways() {
        assert_eq!(Desk::new().press("a\r").input, Input::Line);
        assert_eq!(Desk::new().press("a\x03").input, Input::Dropped);
        assert_eq!(Desk::new().press("\x04").input, Input::End);
        let mut desk = Desk::new();
        assert_eq!(desk.press("a\x02\x04").input, Input::Editing);
        desk.expect("");
    }

    #[test]
    fn a_cleared_screen_shows_the_line_again() {
        Desk::new().press("abc\x02\x0cd").expect("abdc");
    }

    #[test]
    fn a_full_line_takes_no_more() {
        let long = "x".repeat(crate::history::SIZE);
        Desk::new().press(&long).press("y").expect(&long);
    }
}
