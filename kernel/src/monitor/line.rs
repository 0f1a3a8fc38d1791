//! The line that is being typed.
//!
//! Written here, in a few lines, because the crates for it ask the terminal where its cursor is and wait for the answer
//! (noline), which a script on a serial line never gives, or know half of the keys only (embedded-cli). Nothing here needs
//! an answer: the terminal is told to move by characters, to erase to the end of the line, and no more.

use core::fmt::{self, Write};

use super::commands::COMMANDS;
use super::history::{History, Text};
use super::keys::Key;

/// What a key has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The line goes on.
    Editing,
    /// The line is complete: see [`Editor::text`].
    Line,
    /// The line was given up.
    Dropped,
    /// There will be no more lines.
    End,
}

/// A line, with a cursor in it, and the lines before it.
#[derive(Debug)]
pub struct Editor {
    line: Text,
    cursor: usize,
    history: History,
}

impl Editor {
    /// An empty line, without history.
    pub const fn new() -> Self {
        Self {
            line: Text::new(),
            cursor: 0,
            history: History::new(),
        }
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        self.line.as_str()
    }

    /// Keeps the line for later, and begins an empty one.
    pub fn finish(&mut self) {
        self.history.keep(&self.line);
        self.line = Text::new();
        self.cursor = 0;
    }

    /// Does what the key says, and shows it.
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

    /// Takes out what is between two places, one of which is the cursor's.
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

    /// Empties the screen, and begins the line again at its top.
    fn clear_screen(&mut self, out: &mut impl Write) -> fmt::Result {
        let cursor = self.cursor;
        self.go(0, out)?;
        write!(out, "\x1b[H\x1b[2J{}{}", super::PROMPT, self.text())?;
        self.cursor = self.line.len();
        self.go(cursor, out)
    }

    /// Writes the rest of a command's name, if there is one way only to go on.
    fn complete(&mut self, out: &mut impl Write) -> fmt::Result {
        let typed = self.text();
        let mut names = COMMANDS.iter().map(|command| command.name);
        let mut fitting = names.by_ref().filter_map(|name| name.strip_prefix(typed));
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

/// Says that a key does nothing here.
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
