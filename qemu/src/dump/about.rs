//! What a dump says of itself.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::Crc;
use serde::{Deserialize, Serialize};

use crate::stub::Answers;

/// The number of this format.
pub(super) const FORMAT: u32 = 1;

/// All that is known of a machine but its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    pub(super) format: u32,
    /// Why it was asked where it is.
    pub(super) reason: String,
    /// The image's build id, if it has one.
    pub(super) build: Option<String>,
    pub(super) image: Content,
    pub(super) memory: Content,
    pub(super) cpus: Vec<Cpu>,
    /// The checksum of all that is above.
    pub(super) crc32: u32,
}

impl About {
    /// The checksum of all but itself, as the fields are written without spaces.
    pub(super) fn sum(&self) -> Result<u32> {
        let without = Self {
            crc32: 0,
            ..self.clone()
        };
        let mut crc = Crc::new();
        crc.update(&serde_json::to_vec(&without)?);
        Ok(crc.sum())
    }
}

/// A CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cpu {
    /// It waits for an interrupt, or has not been started.
    pub(super) is_halted: bool,
    pub(super) answers: Answers,
}

/// What tells a file from one that is cut off, damaged or another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) bytes: u64,
    pub(super) crc32: u32,
}

impl Content {
    pub(super) fn of(path: &Path) -> Result<Self> {
        let read = || {
            let mut file = File::open(path)?;
            let (mut crc, mut bytes) = (Crc::new(), 0);
            let mut buffer = vec![0; 1 << 16];
            loop {
                let count = file.read(&mut buffer)?;
                if count == 0 {
                    return Ok::<_, std::io::Error>((bytes, crc.sum()));
                }
                crc.update(&buffer[..count]);
                bytes += count as u64;
            }
        };
        let (bytes, crc32) = read().with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { bytes, crc32 })
    }

    /// That the file at `path` is this one.
    pub(super) fn expect(&self, path: &Path) -> Result<()> {
        let shown = path.display();
        // Before anything is read, which has no end in a device.
        let bytes = length(path)?;
        if bytes < self.bytes {
            bail!(
                "file {shown} is truncated: {bytes} of {expected} bytes are present",
                expected = self.bytes
            );
        }
        if bytes != self.bytes || Self::of(path)? != *self {
            bail!("file {shown} was changed or replaced after the dump was saved");
        }
        Ok(())
    }
}

/// How many bytes the file at `path` has.
///
/// # Errors
/// When it is no file.
pub(super) fn length(path: &Path) -> Result<u64> {
    let known = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    match known.is_file() {
        true => Ok(known.len()),
        false => bail!("{path} is not a file", path = path.display()),
    }
}
