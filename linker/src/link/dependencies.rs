//! The file of dependencies that a linker writes for make or ninja (`--dependency-file`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::whole;

/// The file that an argument names; `next` is the argument after it.
pub(super) fn file(argument: &OsStr, next: Option<&OsStr>) -> Option<PathBuf> {
    let bytes = argument.as_bytes();
    let switch = bytes
        .strip_prefix(b"--")
        .or_else(|| bytes.strip_prefix(b"-"))?;
    match switch.strip_prefix(b"dependency-file")? {
        b"" => next.map(PathBuf::from),
        value => Some(OsStr::from_bytes(value.strip_prefix(b"=")?).into()),
    }
}

/// Replaces the temporary name of the image, for which the linker has written the dependencies, by the final one. It only has
/// more at its end, whose characters are written as they are.
pub(super) fn rename(dependencies: &Path, temporary: &Path, name: &Path) -> Result<()> {
    let more = temporary
        .as_os_str()
        .as_bytes()
        .strip_prefix(name.as_os_str().as_bytes());
    let Some(more) = more else {
        return Ok(());
    };
    let text = std::fs::read(dependencies)
        .with_context(|| format!("cannot read {}", dependencies.display()))?;
    let target = [more, b":"].concat();
    let Some(at) = text.windows(target.len()).position(|part| part == target) else {
        return Ok(());
    };
    whole::write(
        dependencies,
        &[&text[..at], &text[at + more.len()..]].concat(),
    )
}
