//! Temporary files, deleted at the end of the link.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file that is deleted when this is dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Writes a file beside another one, named after it. The name is the same in every build, because a linker may write it to
    /// its output (a map file), and no other link uses it.
    pub(super) fn beside(file: &Path, extension: &str, content: &[u8]) -> Result<Self> {
        let mut name = OsString::from(file.file_name().unwrap_or_default());
        name.push(".sframe-link.");
        name.push(extension);
        let path = file.with_file_name(name);
        std::fs::write(&path, content)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Somebody else may have removed it, and a file that is left behind does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}
