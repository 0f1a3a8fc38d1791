//! File locks, because tests run in parallel and each does its own set-up.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

/// A file lock in the target folder, released when dropped or when the process dies.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not read")] File);

impl Lock {
    /// Waits until nobody else has the lock of this name.
    pub(super) fn wait(target: &Path, name: &str) -> Result<Self> {
        std::fs::create_dir_all(target)
            .with_context(|| format!("cannot make {}", target.display()))?;
        let path = target.join(format!(".{name}.lock"));
        let lock = || -> std::io::Result<File> {
            let file = File::create(&path)?;
            file.lock()?;
            Ok(file)
        };
        lock()
            .map(Self)
            .with_context(|| format!("cannot lock {}", path.display()))
    }
}
