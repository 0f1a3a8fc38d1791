//! A copy of an image, as it was when its machine began: a build may replace or overwrite the file while the machine runs.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A copy of an image, in no folder, so that nothing is left behind.
#[derive(Debug)]
pub struct Held {
    file: File,
    name: PathBuf,
}

impl Held {
    /// Copies the image at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or there is no room for it.
    pub fn of(path: &Path) -> Result<Self> {
        let copy = || {
            let mut file = tempfile::tempfile()?;
            std::io::copy(&mut File::open(path)?, &mut file)?;
            Ok::<_, std::io::Error>(file)
        };
        Ok(Self {
            file: copy()
                .with_context(|| format!("cannot copy image {path}", path = path.display()))?,
            name: path.to_owned(),
        })
    }

    /// Where the copy is, for this process and for those that it starts.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let (process, file) = (std::process::id(), self.file.as_raw_fd());
        match cfg!(target_os = "linux") {
            true => format!("/proc/{process}/fd/{file}").into(),
            // Other hosts have no path to a file in no folder.
            false => self.name.clone(),
        }
    }

    /// Where the image was.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }
}
