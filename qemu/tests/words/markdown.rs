//! The texts of a Markdown file: paragraphs, list items, headings and table rows, without code.

use std::sync::LazyLock;

use regex::Regex;

use super::Text;

static ITEM: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:[-*]|\d+\.)\s+").expect("a pattern"));
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("(`+)[^`]+(`+)").expect("a pattern"));
static TARGET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\([^)\s]*\)").expect("a pattern"));

/// Returns the texts of a document. Code in backquotes is replaced by `_`, and the targets of links are removed.
pub(crate) fn texts(document: &str) -> Vec<Text> {
    let mut texts: Vec<Text> = vec![];
    let mut is_open = false;
    for (line, text) in lines(document) {
        let marker = ITEM.find(text);
        let begins = text.starts_with(['#', '|']) || marker.is_some();
        let content = text[marker.map_or(0, |marker| marker.end())..].trim();
        if content.is_empty() {
            is_open = false;
            continue;
        }
        match texts.last_mut() {
            Some(last) if is_open && !begins => {
                last.text.push(' ');
                last.text.push_str(content);
            }
            _ => texts.push(Text {
                line,
                text: content.to_owned(),
            }),
        }
        is_open = true;
    }
    for text in &mut texts {
        text.text = prose(&text.text);
    }
    texts
}

/// Returns the lines of a document, with their numbers from 1. Lines of code blocks are empty.
pub(crate) fn lines(document: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    document.lines().enumerate().map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        let text = if is_fence || is_code { "" } else { line };
        (index + 1, text)
    })
}

/// Replaces code in backquotes by `_`, and removes the targets of links.
pub(crate) fn prose(text: &str) -> String {
    let text = CODE.replace_all(text, "${1}_${2}");
    TARGET.replace_all(&text, "]").into_owned()
}

#[test]
fn texts_are_found_with_their_lines() {
    let document =
        "# Head `code`\n\nOne [link](a.md)\nline.\n- item\n  more\n```sh\ncode\n```\n| a |\n";
    let texts = texts(document);
    let texts: Vec<_> = texts.iter().map(|one| (one.line, &*one.text)).collect();
    let expected = [
        (1, "# Head `_`"),
        (3, "One [link] line."),
        (5, "item more"),
        (10, "| a |"),
    ];
    assert_eq!(texts, expected);
}
