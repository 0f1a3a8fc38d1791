//! Temporary files of a link: deleted at its end, or given their final name.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The part of a temporary file's name between the name of the other file and the extension.
const MARK: &str = ".sframe-link.";

/// A file that is deleted when this is dropped. If the link is killed, it is left behind, and the next one writes it again.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A file beside another one, named after it, that somebody else writes. The name is the same in every build, because a
    /// linker may write it to its output (a map file), and no other link uses it.
    pub(super) fn named(file: &Path, extension: &str) -> Self {
        let mut name = OsString::from(file.file_name().unwrap_or_default());
        name.push(MARK);
        name.push(extension);
        let path = file.with_file_name(name);
        Self { path }
    }

    /// [`Self::named`], where nothing is yet: a link that was killed may have left its file behind.
    pub(super) fn absent(file: &Path, extension: &str) -> Result<Self> {
        let this = Self::named(file, extension);
        match std::fs::remove_file(&this.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot write {}", this.path.display()))
            }
            _ => Ok(this),
        }
    }

    /// Whether a path is that of a file which a link makes for its linker to read.
    pub(super) fn is_input(path: &[u8]) -> bool {
        let mut inputs = ["o", "ld"].into_iter();
        inputs.any(|extension| path.ends_with(format!("{MARK}{extension}").as_bytes()))
    }

    /// Writes a file beside another one.
    pub(super) fn beside(file: &Path, extension: &str, content: &[u8]) -> Result<Self> {
        let this = Self::named(file, extension);
        std::fs::write(&this.path, content)
            .with_context(|| format!("cannot write {}", this.path.display()))?;
        Ok(this)
    }

    /// Gives it its final name, in one step.
    pub(super) fn rename(self, to: &Path) -> Result<()> {
        std::fs::rename(&self.path, to).with_context(|| format!("cannot write {}", to.display()))
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
