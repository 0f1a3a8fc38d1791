//! Decodes the bytes of a terminal into keys (ECMA-48, with the extensions of xterm).

/// A key, or the action that it has in every shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable character of ASCII.
    Character(u8),
    /// Return.
    Enter,
    /// Deletes the character before the cursor: Backspace, Ctrl-H.
    Backspace,
    /// Deletes the character at the cursor.
    Delete,
    /// Ctrl-D: as [`Self::Delete`], and the end of all input on an empty line.
    DeleteOrEnd,
    /// Left, Ctrl-B.
    Left,
    /// Right, Ctrl-F.
    Right,
    /// Ctrl-Left, Alt-B.
    WordLeft,
    /// Ctrl-Right, Alt-F.
    WordRight,
    /// Home, Ctrl-A.
    Home,
    /// End, Ctrl-E.
    End,
    /// Up, Ctrl-P.
    Up,
    /// Down, Ctrl-N.
    Down,
    /// Deletes all before the cursor: Ctrl-U.
    KillBefore,
    /// Deletes all from the cursor on: Ctrl-K.
    KillAfter,
    /// Deletes the word before the cursor: Ctrl-W, Alt-Backspace.
    KillWord,
    /// Discards the line: Ctrl-C.
    Cancel,
    /// Clears the screen: Ctrl-L.
    Clear,
    /// Tab.
    Complete,
}

/// The state of the decoder: the bytes of a key so far.
#[derive(Clone, Copy, Debug)]
enum State {
    Start,
    /// A carriage return: a line feed after it is part of it.
    Return,
    Escape,
    /// `ESC O`; the key's letter is next.
    Single,
    /// `ESC [`, with the first and the last number so far.
    Control {
        first: u8,
        last: u8,
    },
}

/// The decoder of keys.
#[derive(Clone, Copy, Debug)]
pub struct Keys(State);

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

impl Keys {
    /// Creates a decoder in its initial state.
    #[must_use]
    pub const fn new() -> Self {
        Self(State::Start)
    }

    /// Decodes a byte. Returns the key that ends with this byte, if a key does. Sequences of unknown keys are skipped as a whole.
    pub fn take(&mut self, byte: u8) -> Option<Key> {
        let state = core::mem::replace(&mut self.0, State::Start);
        match (state, byte) {
            (State::Start | State::Return, _) => return self.plain(byte, state),
            (State::Escape, b'[') => self.0 = State::Control { first: 0, last: 0 },
            (State::Escape, b'O') => self.0 = State::Single,
            (State::Escape, b'b') => return Some(Key::WordLeft),
            (State::Escape, b'f') => return Some(Key::WordRight),
            (State::Escape, 0x08 | 0x7f) => return Some(Key::KillWord),
            (State::Escape, 0x1b) => self.0 = State::Escape,
            (State::Escape, _) => {}
            (State::Single, letter) => return named(letter, 0, 0),
            (State::Control { first, last }, b'0'..=b'9') => {
                let digit = byte - b'0';
                let last = last.saturating_mul(10).saturating_add(digit);
                self.0 = State::Control { first, last };
            }
            (State::Control { first, last }, b';') => {
                let first = if first == 0 { last } else { first };
                self.0 = State::Control { first, last: 0 };
            }
            // Other parameters and intermediate bytes.
            (control, 0x20..=0x3f) => self.0 = control,
            (State::Control { first, last }, letter) => return named(letter, first, last),
        }
        None
    }

    fn plain(&mut self, byte: u8, before: State) -> Option<Key> {
        Some(match byte {
            b'\r' => {
                self.0 = State::Return;
                Key::Enter
            }
            b'\n' if matches!(before, State::Return) => return None,
            b'\n' => Key::Enter,
            0x1b => {
                self.0 = State::Escape;
                return None;
            }
            b'\t' => Key::Complete,
            0x08 | 0x7f => Key::Backspace,
            b' '..=b'~' => Key::Character(byte),
            _ => return control(byte),
        })
    }
}

/// A letter with the Ctrl key held: the letter's number in the alphabet.
fn control(byte: u8) -> Option<Key> {
    Some(match byte.checked_add(b'@')? {
        b'A' => Key::Home,
        b'B' => Key::Left,
        b'C' => Key::Cancel,
        b'D' => Key::DeleteOrEnd,
        b'E' => Key::End,
        b'F' => Key::Right,
        b'K' => Key::KillAfter,
        b'L' => Key::Clear,
        b'N' => Key::Down,
        b'P' => Key::Up,
        b'U' => Key::KillBefore,
        b'W' => Key::KillWord,
        _ => return None,
    })
}

/// A key that sends a letter after numbers: `~` with the number of the key, or the key's letter; 5 is the Ctrl key, 3 Alt.
fn named(letter: u8, first: u8, last: u8) -> Option<Key> {
    let number = if first == 0 { last } else { first };
    let by_word = first != 0 && matches!(last, 3 | 5);
    Some(match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' if by_word => Key::WordRight,
        b'C' => Key::Right,
        b'D' if by_word => Key::WordLeft,
        b'D' => Key::Left,
        b'F' => Key::End,
        b'H' => Key::Home,
        b'~' => match number {
            1 | 7 => Key::Home,
            3 => Key::Delete,
            4 | 8 => Key::End,
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::new();
        bytes.iter().filter_map(|byte| keys.take(*byte)).collect()
    }

    #[test]
    fn terminals_say_the_same_key_in_several_ways() {
        for (key, ways) in [
            (Key::Up, &["\x1b[A", "\x1bOA", "\x10"][..]),
            (
                Key::Home,
                &["\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~", "\x01"],
            ),
            (
                Key::End,
                &["\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~", "\x05"],
            ),
            (Key::WordLeft, &["\x1b[1;5D", "\x1b[1;3D", "\x1bb"]),
            (Key::WordRight, &["\x1b[1;5C", "\x1b[1;3C", "\x1bf"]),
            (Key::Left, &["\x1b[D", "\x1b[1;2D", "\x02"]),
            (Key::Delete, &["\x1b[3~", "\x1b[3;2~"]),
            (Key::Backspace, &["\x7f", "\x08"]),
            (Key::KillWord, &["\x17", "\x1b\x7f"]),
            (Key::Enter, &["\r", "\n", "\r\n"]),
        ] {
            for way in ways {
                assert_eq!(keys(way.as_bytes()), [key], "{way:?}");
            }
        }
    }

    #[test]
    fn a_line_feed_belongs_to_the_return_right_before_it_only() {
        assert_eq!(keys(b"\r\n\n"), [Key::Enter, Key::Enter]);
        assert_eq!(
            keys(b"\ra\n"),
            [Key::Enter, Key::Character(b'a'), Key::Enter]
        );
    }

    #[test]
    fn unknown_keys_are_left_out_whole() {
        // F5, a mouse, a shape of the cursor, a byte of UTF-8.
        for unknown in [
            "\x1b[15~",
            "\x1b[<0;1;2M",
            "\x1b[2 q",
            "\u{e9}",
            "\x1b[Z",
            "\x1bx",
        ] {
            let typed = format!("a{unknown}b");
            let expected = [Key::Character(b'a'), Key::Character(b'b')];
            assert_eq!(keys(typed.as_bytes()), expected, "{unknown:?}");
        }
        // Numbers that are too big for what counts them.
        assert_eq!(keys(b"\x1b[99999999999~a"), [Key::Character(b'a')]);
    }
}
