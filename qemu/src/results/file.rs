//! Files that are replaced whole, or not at all.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file, and makes its folder. Until all of it is written, the file is what it was: a full disk does not cost the
/// results of earlier boots.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content).with_context(|| format!("cannot write {}", path.display()))
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    // A link stays one; and what is no file, such as /dev/stdout, cannot be replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|known| !known.is_file()) {
        return fs::write(path, content);
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        // As for any new file: what the umask leaves of it.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}
