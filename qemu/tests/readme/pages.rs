//! The text of the documents, and their blocks.

use std::fs;

use qemu::workspace;

/// A block of a document: the words after its first three backquotes, and its lines, without the indentation of a list.
pub struct Block {
    /// The language, and the file of a change.
    pub words: String,
    /// The lines.
    pub text: String,
}

/// The text of a document, by its path in the repository.
pub fn page(path: &str) -> String {
    let file = workspace::root().join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The blocks of a text.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((indent, words)) = line.split_once("```") else {
            continue;
        };
        let inside = lines.by_ref().take_while(|line| !line.contains("```"));
        let inside = inside.map(|line| line.strip_prefix(indent).unwrap_or(line).to_owned() + "\n");
        blocks.push(Block {
            words: words.to_owned(),
            text: inside.collect(),
        });
    }
    blocks
}

/// The part of a text from the heading `## NAME` to the next one.
pub fn part<'t>(text: &'t str, name: &str) -> &'t str {
    let (_, part) = text
        .split_once(&format!("\n## {name}\n"))
        .unwrap_or_else(|| panic!("no heading {name:?}"));
    part.split("\n## ").next().unwrap_or(part)
}

/// The pages of the documents' folder that show commands of the runner.
pub const PAGES: [&str; 7] = [
    "docs/reports.md",
    "docs/screens.md",
    "docs/hangs.md",
    "docs/profiles.md",
    "docs/ci.md",
    "docs/boards.md",
    "docs/runner.md",
];
