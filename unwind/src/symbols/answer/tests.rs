//! Names and paths as they are written.

extern crate std;

use std::string::{String, ToString};
use std::vec::Vec;

use super::*;

/// What is written of a text that another tool has stored: without rules, two bytes a code.
fn written(text: &str) -> String {
    let codes: Vec<u8> = text.bytes().flat_map(|byte| [0, byte]).collect();
    Text::new(&[0, 0], &codes).to_string()
}

#[test]
fn what_acts_is_not_written() {
    let forged = "a\nend of backtrace: complete, 1 frames\r\u{1b}[2J\u{7f}\0";
    assert_eq!(
        written(forged),
        "a?end of backtrace: complete, 1 frames??[2J??"
    );
    // Each character, by its number alone.
    for character in '\0'..=char::MAX {
        let acts = matches!(character, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}')
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(character, '\u{2066}'..='\u{2069}');
        assert_eq!(super::acts(character), acts, "{character:?}");
    }
    // Characters of one byte to four.
    assert_eq!(written("größe → \u{1f980}"), "größe → \u{1f980}");
}

/// As core reads them: each pair of bytes, and each at the borders of longer ones, with what may follow.
#[test]
fn what_is_no_character_is_replaced() {
    let mut cases: Vec<Vec<u8>> = Vec::new();
    for first in 0..=u8::MAX {
        cases.push([first].into());
        cases.extend((0..=u8::MAX).map(|second| [first, second].into()));
        for second in [0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0] {
            for third in [0x41, 0x80, 0xbf, 0xc0] {
                cases.push([first, second, third].into());
                cases.push([first, second, third, 0x80].into());
                cases.push([first, second, third, 0xc0].into());
            }
        }
    }
    for bytes in cases {
        let codes: Vec<u8> = bytes.iter().flat_map(|byte| [0, *byte]).collect();
        // A byte tells how many are one character; where the text ends before, there are zeros.
        let (mut expected, mut end) = (String::new(), "");
        let mut rest = &bytes[..];
        while let [first, ..] = rest {
            let length = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            let (one, behind) = rest.split_at(rest.len().min(length));
            match core::str::from_utf8(one) {
                Ok("\u{1}") => {
                    expected.push_str(" (or ");
                    end = ")";
                }
                Ok(one) if one.chars().any(super::acts) => expected.push('?'),
                Ok(one) => expected.push_str(one),
                Err(_) => expected.push('\u{fffd}'),
            }
            rest = behind;
        }
        assert_eq!(
            Text::new(&[0, 0], &codes).to_string(),
            expected + end,
            "{bytes:?}"
        );
    }
}
