//! Texts that stay in their line: names and paths come from the input of a link, and who wrote that may have meant to forge a
//! line of a report, or to move a terminal's cursor.

use std::borrow::Cow;

/// A text with an escape, such as `\n` or `\u{1b}`, for every character that does something else than to be seen: control
/// characters, line separators, and those that turn the direction of writing.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    // Nearly all are of these characters, which bytes tell faster.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match acts(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_acts_is_escaped() {
        for same in ["", "core::fmt::write", "größe", "a\\nb", "{closure#0}"] {
            assert_eq!(printable(same), same);
        }
        for (text, expected) in [
            ("a\nb", "a\\nb"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\r\0\u{7f}", "\\r\\u{0}\\u{7f}"),
            (
                "a\u{85}b\u{2028}c\u{202e}d",
                "a\\u{85}b\\u{2028}c\\u{202e}d",
            ),
        ] {
            assert_eq!(printable(text), expected);
        }
    }
}
