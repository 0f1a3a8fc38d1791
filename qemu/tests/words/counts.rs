//! The stored counts: one line for each file, with its path and its count.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The number of hits of each file.
pub(crate) type Counts = BTreeMap<String, usize>;

/// Reads the stored counts. Returns none if there is no file.
pub(crate) fn read(path: &Path) -> Counts {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(|line| {
        let (file, count) = line.rsplit_once(' ').expect("a path and a count");
        (file.to_owned(), count.parse().expect("a number"))
    });
    lines.collect()
}

pub(crate) fn write(path: &Path, counts: &Counts) {
    let lines = counts
        .iter()
        .map(|(file, count)| format!("{file} {count}\n"));
    fs::write(path, lines.collect::<String>()).expect("the counts can be written");
}
