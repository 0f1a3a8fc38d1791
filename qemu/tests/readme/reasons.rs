//! The page on reports has each reason why a list ends.

use regex::Regex;

use super::pages::page;

/// What contains the texts of reasons, tables and code.
const SOURCES: [(&str, &str); 5] = [
    (
        "words",
        include_str!("../../../unwind/src/verdict/words.rs"),
    ),
    ("lookup", include_str!("../../../unwind/src/lookup.rs")),
    (
        "verify",
        include_str!("../../../unwind/src/sframe/verify.rs"),
    ),
    ("error", include_str!("../../../unwind/src/sframe/error.rs")),
    ("lines", include_str!("../../../unwind/src/report/lines.rs")),
];

#[test]
fn the_page_on_reports_has_each_reason() {
    let page = page("docs/reports.md");
    let text = Regex::new(r#"(?:=> |Filled::of\()\s*"([^"]+)""#).expect("it is a pattern");
    let mut missing = Vec::new();
    for (name, source) in SOURCES {
        let mut found = text.captures_iter(source).peekable();
        assert!(found.peek().is_some(), "{name} has no text");
        for found in found {
            let words = found[1]
                .replace(['@', '&', '%', '$'], "0x…")
                .replace('#', "N");
            if !page.contains(words.trim()) {
                missing.push(words);
            }
        }
    }
    assert!(missing.is_empty(), "not in docs/reports.md: {missing:#?}");
}
