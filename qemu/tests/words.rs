//! Expressions that readers have stumbled over: their number in a file of documents, messages or public documentation may not rise.
//!
//! `qemu/tests/words/counts.txt` contains the count of each file. `WORDS=write cargo test --test static_checks words::` stores
//! lower counts, and the counts of new files.

mod counts;
mod links;
mod markdown;
mod patterns;
mod rust;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use counts::Counts;
use patterns::Patterns;
use qemu::workspace;

/// The most hits in 10,000 words of a file that has no stored count.
const NEW: usize = 50;

/// Sources with messages for users.
const MESSAGES: [&str; 6] = [
    "linker/src",
    "qemu/src",
    "kernel/c/src",
    "kernel/portable/src",
    "kernel/postmortem/src",
    "kernel/screen/src",
];

/// Sources of libraries with a page on docs.rs.
const LIBRARIES: [&str; 3] = ["unwind/src", "kernel/postmortem/src", "kernel/screen/src"];

/// A paragraph, list item, table row, message or doc comment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The number of its first line in the file, from 1.
    line: usize,
    text: String,
}

#[test]
fn no_file_has_more_expressions_than_stored() {
    let patterns = Patterns::new();
    let texts = texts(workspace::root());
    assert!(texts.len() > 300, "{}", texts.len());
    let now: Counts = (texts.iter())
        .map(|(file, texts)| (file.clone(), patterns.count(texts)))
        .collect();
    let path = workspace::root().join("qemu/tests/words/counts.txt");
    let stored = counts::read(&path);
    let is_writing = std::env::var_os("WORDS").is_some_and(|value| value == "write");
    // Without a file of counts, all files get the count that they have.
    if is_writing && stored.is_empty() {
        counts::write(&path, &now);
        return;
    }
    let mut errors = String::new();
    for (file, texts) in &texts {
        let (hits, words) = (now[file], words(texts));
        let allowed = stored.get(file).copied().unwrap_or(words * NEW / 10_000);
        if hits > allowed {
            let _ = writeln!(errors, "{file}: {hits} hits, at most {allowed} are allowed");
            errors += &patterns.list(file, texts);
        }
    }
    assert!(errors.is_empty(), "replace some of these words:\n{errors}");
    if is_writing {
        counts::write(&path, &now);
        return;
    }
    let lower = (stored.iter()).filter(|(file, count)| now.get(*file) != Some(*count));
    let lower: Vec<&String> = lower.map(|(file, _)| file).collect();
    assert!(
        lower.is_empty(),
        "there are fewer hits than stored; WORDS=write cargo test --test static_checks words:: stores the lower counts of {lower:#?}"
    );
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let root = workspace::root();
    let mut count = 0;
    let mut errors = String::new();
    for file in files(root, "md") {
        for link in links::relative(&read(&file)) {
            count += 1;
            if let Err(reason) = links::check(&file, &link.text) {
                let file = name(root, &file);
                let _ = writeln!(errors, "{file}:{}: {}: {reason}", link.line, link.text);
            }
        }
    }
    assert!(errors.is_empty(), "links that lead nowhere:\n{errors}");
    assert!(count > 60, "{count}");
}

/// Returns the texts of each file that is checked.
fn texts(root: &Path) -> BTreeMap<String, Vec<Text>> {
    let mut texts: BTreeMap<String, Vec<Text>> = BTreeMap::new();
    for file in files(root, "md") {
        texts.insert(name(root, &file), markdown::texts(&read(&file)));
    }
    for (folders, extract) in [
        (&MESSAGES[..], rust::messages as fn(&str) -> Vec<Text>),
        (&LIBRARIES, rust::documentation),
    ] {
        for folder in folders {
            for file in files(&root.join(folder), "rs") {
                let name = name(root, &file);
                if name.contains("/tests/") || name.ends_with("/tests.rs") {
                    continue;
                }
                let found = extract(rust::without_tests(&read(&file)));
                texts.entry(name).or_default().extend(found);
            }
        }
    }
    texts.retain(|_, texts| !texts.is_empty());
    texts
}

fn words(texts: &[Text]) -> usize {
    let words = (texts.iter()).map(|text| text.text.split_whitespace().count());
    words.sum()
}

/// Returns the files with an extension below a folder, without links and generated files.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder can be read") {
            let entry = entry.expect("a folder can be read");
            let kind = entry.file_type().expect("an entry has a type");
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if kind.is_file() && path.extension() == Some(OsStr::new(extension)) {
                found.push(path);
            } else if kind.is_dir() && !name.starts_with('.') && !is_generated(&name) {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Whether a tool makes the folders with this name.
fn is_generated(name: &str) -> bool {
    name == "target" || name.starts_with("mutants.out")
}

/// The path of a file below the root, with `/` between folders.
fn name(root: &Path, file: &Path) -> String {
    let path = file.strip_prefix(root).expect("it is below the root");
    path.to_str().expect("its name is UTF-8").replace('\\', "/")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a source can be read")
}
