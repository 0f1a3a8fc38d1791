//! Links between documents, and whether their targets exist.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::Text;
use super::markdown::lines;

static LINK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)").expect("a pattern"));
static ABSOLUTE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[a-z]+:").expect("a pattern"));
static HEADING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^#{1,6}\s+(.+?)\s*#*$").expect("a pattern"));
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").expect("a pattern"));
static TARGET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\([^)]*\)").expect("a pattern"));

/// Returns the targets of the relative links of a document.
pub(crate) fn relative(document: &str) -> Vec<Text> {
    let mut targets = vec![];
    for (line, text) in lines(document) {
        let text = CODE.replace_all(text, "");
        for found in LINK.captures_iter(&text) {
            let target = found.get(1).or(found.get(2)).expect("one of both");
            if !ABSOLUTE.is_match(target.as_str()) {
                let text = target.as_str().to_owned();
                targets.push(Text { line, text });
            }
        }
    }
    targets
}

/// Checks that a link in a file leads to a file, and its anchor to a heading.
pub(crate) fn check(file: &Path, target: &str) -> Result<(), String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => file.to_owned(),
        path => file.with_file_name(path),
    };
    if !path.exists() {
        return Err("there is no such file".to_owned());
    }
    if anchor.is_empty() || path.extension().is_none_or(|extension| extension != "md") {
        return Ok(());
    }
    let document = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let anchors = anchors(&document);
    match anchors.iter().any(|one| one == anchor) {
        true => Ok(()),
        false => Err(format!("there is no such heading among {anchors:?}")),
    }
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(document: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = vec![];
    for (_, line) in lines(document) {
        let Some(heading) = HEADING.captures(line) else {
            continue;
        };
        let text = TARGET.replace_all(&heading[1], "").to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor: String = text.chars().filter(kept).collect();
        let anchor = anchor.replace(' ', "-");
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(match *count {
            0 => anchor,
            count => format!("{anchor}-{count}"),
        });
        *count += 1;
    }
    anchors
}

#[test]
fn anchors_are_those_of_headings() {
    let document = "# Of `a_b`: [c](d.md)!\n## Two\n```\n# code\n```\n## Two\n";
    assert_eq!(anchors(document), ["of-a_b-c", "two", "two-1"]);
}

#[test]
fn relative_links_are_found() {
    let document = "[a](b.md) `[c](d)`\n[e](https://f) [`g`](h/i.md#j)\n";
    let links = relative(document);
    let links: Vec<_> = links.iter().map(|one| (one.line, &*one.text)).collect();
    assert_eq!(links, [(1, "b.md"), (2, "h/i.md#j")]);
}
