//! The steps of a guide, as they stand in its text: blocks that are marked `diff FILE`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// A change of one file.
struct Step<'a> {
    file: &'a str,
    lines: Vec<&'a str>,
}

/// All changes, in order.
fn steps(guide: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        if let Some(file) = line.strip_prefix("```diff ") {
            let lines = lines.by_ref().take_while(|line| *line != "```").collect();
            steps.push(Step { file, lines });
        }
    }
    steps
}

/// Makes all changes of a part of a guide; returns how many lines they add and remove.
///
/// # Errors
/// Returns an error if a change does not fit its file, or the file cannot be written.
pub fn apply(part: &str, folder: &Path) -> Result<usize> {
    let mut lines = 0;
    for step in steps(part) {
        step.apply(folder)?;
        lines += step.changed();
    }
    Ok(lines)
}

impl Step<'_> {
    /// How many lines it adds and removes, without empty ones.
    fn changed(&self) -> usize {
        self.with("+-").filter(|line| !line.is_empty()).count()
    }

    /// The lines with one of these marks in front, without the mark.
    fn with(&self, marks: &str) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(move |line| {
            let mut rest = line.chars();
            // Editors take away a space at the end of a line.
            let mark = rest.next().unwrap_or(' ');
            marks.contains(mark).then_some(rest.as_str())
        })
    }

    /// Changes the file in `folder`: exactly one place has the lines that stay or go. A file that is not there is made.
    fn apply(&self, folder: &Path) -> Result<()> {
        let path = folder.join(self.file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let old: Vec<&str> = self.with(" -").collect();
        let place = if old.is_empty() {
            ensure!(
                !path.exists(),
                "cannot create {file}, because the file already exists",
                file = self.file
            );
            0
        } else {
            let mut places = lines.windows(old.len()).enumerate();
            let mut places = places.by_ref().filter(|(_, window)| *window == old);
            let place = places.next();
            ensure!(
                places.next().is_none(),
                "{file} contains these lines twice: {old:#?}",
                file = self.file
            );
            let place = place.with_context(|| {
                let file = self.file;
                format!("{file} does not contain these lines: {old:#?}")
            })?;
            place.0
        };
        let new = self.with(" +");
        let before = lines[..place].iter().copied();
        let after = lines[place + old.len()..].iter().copied();
        let text: String = before
            .chain(new)
            .chain(after)
            .flat_map(|line| [line, "\n"])
            .collect();
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
