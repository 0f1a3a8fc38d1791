//! The file of dependencies that a linker writes for make or ninja (`--dependency-file`).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::switches;
use super::temporary::Temporary;
use crate::whole;

/// The file that an argument names; `next` is the argument after it.
pub(super) fn file(argument: &OsStr, next: Option<&OsStr>) -> Option<PathBuf> {
    // lld takes one dash too.
    let mut two = OsString::from("-");
    two.push(argument);
    let (switch, value) = switches::long(argument).or_else(|| switches::long(&two))?;
    let value = value.or(next).filter(|_| switch == "dependency-file");
    value.map(PathBuf::from)
}

/// Replaces the temporary name of the image, for which the linker has written the dependencies, by the final one, and removes the files that
/// the link has made for the linker, which are gone.
pub(super) fn correct(dependencies: &Path, temporary: &Path, name: &Path) -> Result<()> {
    let text = std::fs::read(dependencies)
        .with_context(|| format!("cannot read {}", dependencies.display()))?;
    let last = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .as_encoded_bytes()
            .to_vec()
    };
    let (temporary, name) = (last(temporary), last(name));
    // Mostly the temporary name only has more at its end, whose characters are written as they are.
    let (from, to) = match temporary.strip_prefix(name.as_slice()) {
        Some(more) => (more, Vec::new()),
        None => (temporary.as_slice(), escaped(&name)),
    };
    whole::write(dependencies, &corrected(&text, from, &to))
}

/// A name as linkers write it for make.
fn escaped(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b' ' | b'#' => text.push(b'\\'),
            b'$' => text.push(b'$'),
            _ => {}
        }
        text.push(*byte);
    }
    text
}

/// `from` is what the target has at its end, and `to` what it shall have. Linkers write one file a line: the first line has the target, and each file is a target of its own
/// below, so that make does not miss it.
fn corrected(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let words = line.trim_ascii();
        let continued = words.strip_suffix(b"\\").map(<[u8]>::trim_ascii_end);
        let file = continued.or(words.strip_suffix(b":")).unwrap_or(words);
        if !Temporary::is_input(file) {
            lines.push(line);
            continue;
        }
        // The line before the last one of a list must not be continued. No file follows a target of its own but an empty line.
        if continued.is_none()
            && let Some(before) = lines.last_mut()
            && let Some(before_it) = before.trim_ascii_end().strip_suffix(b"\\")
        {
            *before = before_it.trim_ascii_end();
            lines.push(b"\n");
        }
    }
    let text = lines.concat();
    let target = [from, b":"].concat();
    match text.windows(target.len()).position(|part| part == target) {
        Some(at) => [&text[..at], to, &text[at + from.len()..]].concat(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_gone_are_no_dependencies() {
        let mark = "image.sframe-link";
        let lld = format!(
            "{mark}.image: \\\n  {mark}.ld \\\n  a.o \\\n  {mark}.o\n\n{mark}.ld:\n\na.o:\n\n{mark}.o:\n"
        );
        let found = corrected(lld.as_bytes(), b".sframe-link.image", b"");
        let found = String::from_utf8(found).unwrap();
        assert_eq!(found, "image: \\\n  a.o\n\n\na.o:\n\n");
        let first = format!("x: \\\n  a.o \\\n  my\\ {mark}.o \\\n  b.o\n");
        let found = corrected(first.as_bytes(), b"", b"");
        assert_eq!(found, b"x: \\\n  a.o \\\n  b.o\n");
        let other = b"x: \\\n  a.o \\\n  image.o\n";
        assert_eq!(corrected(other, b"", b""), other);
        let long = b"out/.01234567.sframe-link.image: \\\n  a.o\n";
        let found = corrected(long, b".01234567.sframe-link.image", &escaped(b"my $image"));
        assert_eq!(found, b"out/my\\ $$image: \\\n  a.o\n");
    }
}
