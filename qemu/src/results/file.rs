//! Files of results, each in a folder that is made for it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file whole or not at all, and makes its folder: a full disk does not cost the results of earlier boots.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot write {}", path.display()))?;
    }
    linker::whole::write(path, content)
}
