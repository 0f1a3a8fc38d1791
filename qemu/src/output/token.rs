//! What a text is made of: characters, and what is more than one, but stays together.

use super::Rules;

/// The largest number of bytes of a colour, and of carriage returns before a line feed.
const LONGEST: usize = 32;

/// The next thing in a text.
pub(super) enum Token {
    /// The end of a line, or a colour: it stays as it is.
    Kept(usize),
    Character(char),
    /// A byte that is not of UTF-8.
    Byte(u8),
}

impl Token {
    /// What the text begins with; `None` if that depends on what comes.
    pub(super) fn first(text: &[u8], rules: Rules) -> Option<Self> {
        if rules.controls {
            match text {
                [0x1b, ..] => return colour(text),
                [b'\r', ..] => return end_of_line(text),
                _ => {}
            }
        }
        let length = match text.first()? {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        let start = &text[..length.min(text.len())];
        match std::str::from_utf8(start) {
            Ok(character) => character.chars().next().map(Self::Character),
            Err(error) if error.error_len().is_none() => None,
            Err(_) => text.first().copied().map(Self::Byte),
        }
    }
}

/// The colour (SGR, ECMA-48) at the start of a text, or else the character that would begin it.
fn colour(text: &[u8]) -> Option<Token> {
    let parameters = |byte: &u8| byte.is_ascii_digit() || b";:".contains(byte);
    match text {
        [_] => None,
        [_, b'[', rest @ ..] => match rest.iter().position(|byte| !parameters(byte)) {
            None if rest.len() < LONGEST => None,
            Some(length) if length < LONGEST && rest[length] == b'm' => {
                Some(Token::Kept(length + 3))
            }
            _ => Some(Token::Character('\x1b')),
        },
        _ => Some(Token::Character('\x1b')),
    }
}

/// The end of a line at the start of a text, which may begin with several carriage returns, or else one.
fn end_of_line(text: &[u8]) -> Option<Token> {
    match text.iter().position(|byte| *byte != b'\r') {
        None if text.len() < LONGEST => None,
        Some(length) if length < LONGEST && text[length] == b'\n' => Some(Token::Kept(length + 1)),
        _ => Some(Token::Character('\r')),
    }
}
