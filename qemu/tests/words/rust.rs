//! The texts of a source file in Rust: messages and public documentation.

use std::sync::LazyLock;

use regex::Regex;

use super::Text;
use super::markdown::{self, prose};

/// Words of a string from which on it counts as a message.
const MESSAGE: usize = 4;

static TESTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^#\[cfg\(test\)\]\nmod \w+ \{").expect("a pattern"));
static ESCAPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\(?:\n\s*|[nt])").expect("a pattern"));
/// Comments and characters come first, because they may contain quotes.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let token = concat!(
        r"(?s)//[^\n]*|/\*.*?\*/|'(?:\\[^u]|\\u\{[^}]*\}|\\x..|[^\\'])'",
        r##"|\br#"(?<hash>.*?)"#|\br"(?<raw>[^"]*)"|"(?<plain>(?:\\.|[^"\\])*)""##,
    );
    Regex::new(token).expect("a pattern")
});

/// Returns the part of a source file before its module of tests.
pub(crate) fn without_tests(source: &str) -> &str {
    let end = TESTS
        .find(source)
        .map_or(source.len(), |found| found.start());
    &source[..end]
}

/// Returns the string literals of four or more words.
pub(crate) fn messages(source: &str) -> Vec<Text> {
    let mut messages = vec![];
    let (mut line, mut counted) = (1, 0);
    for found in TOKEN.captures_iter(source) {
        let Some(text) = ["hash", "raw", "plain"]
            .iter()
            .find_map(|name| found.name(name))
        else {
            continue;
        };
        line += source[counted..text.start()].matches('\n').count();
        counted = text.start();
        let has_escapes = found.name("plain").is_some();
        let text = match has_escapes {
            true => ESCAPE.replace_all(text.as_str(), " ").replace("\\\"", "\""),
            false => text.as_str().to_owned(),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.split(' ').count() >= MESSAGE {
            messages.push(Text {
                line,
                text: prose(&text),
            });
        }
    }
    messages
}

/// Returns the documentation of the file's module and of public items: paragraphs without code.
pub(crate) fn documentation(source: &str) -> Vec<Text> {
    let mut texts = vec![];
    let mut comment = String::new();
    let mut first = 0;
    let mut is_module = false;
    // The indentation of a public enum or trait, whose parts are public, too.
    let mut public: Option<usize> = None;
    for (index, line) in source.lines().chain([""]).enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let content = code.strip_prefix("///").or(code.strip_prefix("//!"));
        if let Some(content) = content {
            if comment.is_empty() {
                (first, is_module) = (index, code.starts_with("//!"));
            }
            comment += content.strip_prefix(' ').unwrap_or(content);
            comment.push('\n');
            continue;
        }
        if code.starts_with("#[") && !is_module {
            continue;
        }
        let is_public = code.starts_with("pub ") || public.is_some_and(|outer| indent > outer);
        if !comment.is_empty() && (is_module || is_public) {
            let found = markdown::texts(&comment);
            texts.extend(found.into_iter().map(|text| Text {
                line: text.line + first,
                ..text
            }));
        }
        comment.clear();
        if code.starts_with("pub enum ") || code.starts_with("pub trait ") {
            public = Some(indent);
        } else if public == Some(indent) && code.starts_with('}') {
            public = None;
        }
    }
    texts
}

#[test]
fn messages_are_found_with_their_lines() {
    let source = r##"// "a comment of four words"
fn f<'a>(c: char) -> &'a str {
    assert!(c == '"', "one \"two\" three \
        four");
    ("three words only", r#"a raw "string" of words"#)
}
"##;
    let messages = messages(source);
    let messages: Vec<_> = messages.iter().map(|one| (one.line, &*one.text)).collect();
    let expected = [
        (3, "one \"two\" three four"),
        (5, "a raw \"string\" of words"),
    ];
    assert_eq!(messages, expected);
}

#[test]
fn documentation_of_public_items_is_found() {
    let source = "//! Module.\n\n/// Public.\n///\n/// Second.\n#[must_use]\npub fn one() {}\n/// Private.\nfn two() {}\n\
                  /// An enum.\npub enum Three {\n    /// A variant.\n    Four,\n}\n/// Private.\nstruct Five;\n";
    let texts = documentation(source);
    let texts: Vec<_> = texts.iter().map(|one| (one.line, &*one.text)).collect();
    let expected = [
        (1, "Module."),
        (3, "Public."),
        (5, "Second."),
        (10, "An enum."),
        (12, "A variant."),
    ];
    assert_eq!(texts, expected);
}
