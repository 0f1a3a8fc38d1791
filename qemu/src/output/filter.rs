//! Makes what acts visible: a machine's text must neither move the cursor of whoever reads it, nor command the CI system that
//! keeps it.
//!
//! What is a command was read from the sources of GitHub's runner (`ActionCommand.cs`) and of Azure's agent (`Command.cs`):
//! `::` at the start of a line, after white space; `##[` and `##vso[` anywhere. TeamCity's is `##teamcity[`. A space is put before
//! the last character of each, whatever the command's name. GitLab's sections are escape sequences.

use std::io::{self, Write};

use linker::symbols::printable;

use super::Rules;
use super::token::Token;

/// Text on its way to a writer, of which the rules leave nothing that acts.
#[derive(Debug)]
pub struct Filter<W: Write> {
    out: W,
    rules: Rules,
    /// The beginning of something that may go on.
    held: Vec<u8>,
    start: Start,
    marks: Marks,
}

/// What the line is so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Blank,
    Colon,
    Over,
}

/// What the line ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    None,
    /// `#`
    One,
    /// `##`, and perhaps letters after it.
    Word,
}

impl<W: Write> Filter<W> {
    /// A filter by these rules.
    pub const fn new(out: W, rules: Rules) -> Self {
        Self {
            out,
            rules,
            held: Vec::new(),
            start: Start::Blank,
            marks: Marks::None,
        }
    }

    /// Sets other rules for what comes.
    pub const fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// The writer.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes what is held, as nothing comes after it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(&mut self) -> io::Result<()> {
        self.pass(true)
    }

    /// Passes on what is complete, or all.
    fn pass(&mut self, is_end: bool) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let mut shown = Vec::with_capacity(held.len());
        let mut rest = &held[..];
        while let Some(first) = rest.first() {
            let token = match Token::first(rest, self.rules) {
                Some(token) => token,
                // It does not go on.
                None if is_end && first.is_ascii() => Token::Character(char::from(*first)),
                None if is_end => Token::Byte(*first),
                None => break,
            };
            let length = match token {
                Token::Kept(length) => length,
                Token::Character(character) => character.len_utf8(),
                Token::Byte(_) => 1,
            };
            let (bytes, after) = rest.split_at(length);
            self.show(&token, bytes, &mut shown);
            rest = after;
        }
        self.held = rest.to_vec();
        self.out.write_all(&shown)
    }

    /// Shows a token of these bytes.
    fn show(&mut self, token: &Token, bytes: &[u8], shown: &mut Vec<u8>) {
        match *token {
            Token::Character('\n') | Token::Kept(_) => {
                if bytes.ends_with(b"\n") {
                    (self.start, self.marks) = (Start::Blank, Marks::None);
                }
                shown.extend_from_slice(bytes);
            }
            Token::Character(character) if character != '\t' && acts(character) => {
                if self.rules.controls {
                    shown.extend(visible(character).bytes());
                    (self.start, self.marks) = (Start::Over, Marks::None);
                } else {
                    shown.extend_from_slice(bytes);
                    if character == '\r' {
                        (self.start, self.marks) = (Start::Blank, Marks::None);
                    }
                }
            }
            Token::Character(character) => {
                if self.rules.commands && self.is_command_by(character) {
                    shown.push(b' ');
                }
                shown.extend_from_slice(bytes);
                self.note(character);
            }
            Token::Byte(byte) => {
                // Terminals that do not know UTF-8 take these for controls.
                match byte {
                    0x80..=0x9f if self.rules.controls => {
                        shown.extend(format!("\\x{byte:02x}").bytes());
                    }
                    _ => shown.push(byte),
                }
                self.note(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    /// Whether this character would complete what begins a command.
    fn is_command_by(&self, character: char) -> bool {
        match character {
            ':' => self.start == Start::Colon,
            '[' => self.marks == Marks::Word,
            _ => false,
        }
    }

    fn note(&mut self, character: char) {
        if is_invisible(character) {
            return;
        }
        self.start = match (self.start, character) {
            (Start::Blank, ':') => Start::Colon,
            (Start::Blank, blank) if blank.is_whitespace() => Start::Blank,
            _ => Start::Over,
        };
        self.marks = match (self.marks, character) {
            (Marks::None, '#') => Marks::One,
            (Marks::One | Marks::Word, '#') => Marks::Word,
            (Marks::Word, letter) if letter.is_alphabetic() => Marks::Word,
            _ => Marks::None,
        };
    }
}

impl<W: Write> Write for Filter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.rules == Rules::default() && self.held.is_empty() {
            return self.out.write(bytes);
        }
        self.held.extend_from_slice(bytes);
        self.pass(false)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for Filter<W> {
    fn drop(&mut self) {
        // Who wants to know of an error has called it before.
        let _ = self.finish();
    }
}

/// Whether it does something else than to be seen.
fn acts(character: char) -> bool {
    let mut text = [0; 4];
    matches!(
        printable(character.encode_utf8(&mut text)),
        std::borrow::Cow::Owned(_)
    )
}

/// A character that acts, as it is shown: `^[` for Escape.
fn visible(character: char) -> String {
    match u8::try_from(character) {
        // The caret stands for the bit by which both differ.
        Ok(byte @ (0..0x20 | 0x7f)) => format!("^{}", char::from(byte ^ 0x40)),
        _ => printable(character.encode_utf8(&mut [0; 4])).into_owned(),
    }
}

/// Whether a comparison of text may pass over it, as .NET's do: soft hyphens, joiners, the byte order mark.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Rules = Rules {
        controls: true,
        commands: true,
    };

    /// What comes of a text, the same however it is cut.
    #[track_caller]
    fn shown(text: &[u8], rules: Rules) -> String {
        let shown_in = |size| {
            let mut shown = Vec::new();
            let mut filter = Filter::new(&mut shown, rules);
            for piece in text.chunks(size) {
                filter.write_all(piece).expect("memory takes it");
                filter.flush().expect("memory takes it");
            }
            drop(filter);
            shown
        };
        let whole = shown_in(usize::MAX);
        for size in 1..8 {
            assert_eq!(shown_in(size), whole, "pieces of {size}: {text:?}");
        }
        String::from_utf8_lossy(&whole).into_owned()
    }

    #[test]
    fn what_does_not_act_stays() {
        for text in [
            "",
            "kernel::main at a.rs:1\n  ## heading\n# [1] a[2]\n",
            "größe \u{1f980}\tb\r\nc\r\r\nd : :: e\n",
            "\x1b[31mred\x1b[0m\x1b[m\x1b[38;5;1m\x1b[38:2::1:2:3mtrue\n",
            "#include <a>[0] #[derive] ##1[ ####\n",
        ] {
            assert_eq!(shown(text.as_bytes(), BOTH), text);
        }
        let every_byte: Vec<u8> = (0..=255).collect();
        let mut same = Vec::new();
        Filter::new(&mut same, Rules::default())
            .write_all(&every_byte)
            .expect("memory takes it");
        assert_eq!(same, every_byte);
    }

    #[test]
    fn controls_are_made_visible() {
        for (text, expected) in [
            (&b"a\x1b[2Jb\x1b]0;t\x07"[..], "a^[[2Jb^[]0;t^G"),
            (b"a\rb\x08\x7f\0", "a^Mb^H^?^@"),
            // C1, in UTF-8 and without; what turns the direction of writing
            (
                "\u{9b}2J\u{85}\u{202e}".as_bytes(),
                "\\u{9b}2J\\u{85}\\u{202e}",
            ),
            (b"\x9b2J\xff", "\\x9b2J\u{fffd}"),
            (b"\x1b[0", "^[[0"),
            (b"\xe2\x80", "\u{fffd}\\x80"),
            (b"\r", "^M"),
            (b"\x1b\x1b[1m", "^[\x1b[1m"),
        ] {
            assert_eq!(shown(text, BOTH), expected);
        }
        let long = [b"\x1b[", &[b'1'; 100][..], b"m"].concat();
        assert!(shown(&long, BOTH).starts_with("^[[1"));
    }

    #[test]
    fn commands_are_broken() {
        for (text, expected) in [
            ("::error::a\n", ": :error::a\n"),
            (
                "a\n \t\u{a0}::stop-commands::x",
                "a\n \t\u{a0}: :stop-commands::x",
            ),
            ("\u{feff}:\u{200b}:error::", "\u{feff}:\u{200b} :error::"),
            ("\x1b[0m::error::", "\x1b[0m: :error::"),
            ("a ##[error]b", "a ## [error]b"),
            ("###[error]", "### [error]"),
            ("x##vso[task.complete]", "x##vso [task.complete]"),
            ("#\x1b[0m#VSO\x1b[0m[a.b]", "#\x1b[0m#VSO\x1b[0m [a.b]"),
            ("##teamcity[a]", "##teamcity [a]"),
            // Not the start of a line, once the carriage return is visible.
            ("a\r::error::", "a^M::error::"),
            ("\x0b::error::", "^K::error::"),
        ] {
            assert_eq!(shown(text.as_bytes(), BOTH), expected);
        }
    }

    /// At a terminal, characters come at once and as they are.
    #[test]
    fn a_session_keeps_its_controls() {
        let rules = Rules {
            controls: false,
            commands: true,
        };
        let keys = "> \x1b[K\r> a\x08\x1b[2J\r";
        assert_eq!(shown(keys.as_bytes(), rules), keys);
        assert_eq!(shown(b"> \r::error::", rules), "> \r: :error::");
        let mut seen = Vec::new();
        let mut filter = Filter::new(&mut seen, rules);
        filter.write_all(b"> \r\x1b[").expect("memory takes it");
        assert_eq!(filter.get_mut().as_slice(), b"> \r\x1b[");
    }
}
