//! Writes files whole or not at all: a full disk, or the end of this program, leaves what was there before.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// Writes a file, with the permissions of the one that it replaces, or those of a new one.
///
/// # Errors
/// Returns an error if the file cannot be written. The error contains its name, and the file stays as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, None).with_context(|| cannot_write(path))
}

/// Writes a file with the permissions of `like`, which it may be itself.
///
/// # Errors
/// Returns an error if [`write()`] does.
pub fn write_like(path: &Path, like: &Path, bytes: &[u8]) -> Result<()> {
    let permissions = fs::metadata(like).map(|known| known.permissions());
    permissions
        .and_then(|permissions| replace(path, bytes, Some(permissions)))
        .with_context(|| cannot_write(path))
}

/// Finds out whether [`write()`] can write there, and changes nothing.
///
/// # Errors
/// Returns an error if [`write()`] does.
pub fn can_write(path: &Path) -> Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        let opened = fs::OpenOptions::new().write(true).open(path);
        return opened.map(drop).with_context(|| cannot_write(path));
    }
    let made = temporary(path).with_context(|| cannot_write(path))?;
    drop(made);
    Ok(())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Writes a temporary file in the same folder, and then gives it the name, which replaces the old file in one step. The name
/// of the temporary file is chosen by chance, as several links may write one file of statistics.
fn replace(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    // A symbolic link stays one, and what it leads to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let known = fs::metadata(path).ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        // A pipe or a device, which nothing may replace.
        return fs::write(path, bytes);
    }
    let mut file = temporary(path)?;
    file.as_file_mut().write_all(bytes)?;
    if let Some(permissions) = permissions.or(known.map(|known| known.permissions())) {
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(path)?;
    Ok(())
}

/// A file in the same folder, which is gone when it is dropped. Errors do not name it, because the user did not choose it.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sframe-");
    // It has the permissions of any new file, less what the process takes away (`umask`).
    builder.make_in(folder.unwrap_or(Path::new(".")), |path| {
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_only_the_file_of_the_caller() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("missing/out");
        for error in [can_write(&path), write(&path, b"")].map(Result::unwrap_err) {
            let text = format!("{error:#}");
            let code = io::Error::from_raw_os_error(2);
            assert_eq!(text, format!("cannot write {}: {code}", path.display()));
        }
    }
}
