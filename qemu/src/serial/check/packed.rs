//! The one file that a check leaves behind, to send to the project.

use std::path::Path;

use anyhow::{Context, Result};
use base64ct::{Base64, Encoding};
use linker::whole;
use serde::{Deserialize, Serialize};

use super::compare::{Judged, Verdict};
use super::parts::Part;

/// The file: one JSON object. Fields are only ever added.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Packed {
    /// The version of this program.
    pub(super) version: String,
    /// The operating system and the processor of the host.
    pub(super) host: String,
    /// QEMU's first line about its version.
    pub(super) qemu: String,
    /// The board's name.
    pub(super) board: String,
    /// The build id of the image.
    pub(super) build: String,
    /// The parts, in their order.
    pub(super) parts: Vec<Kept>,
}

/// What is kept of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    step: u8,
    name: String,
    verdict: Verdict,
    why: String,
    /// What the board has written, as text.
    text: Vec<String>,
    /// What QEMU has written.
    expected: Vec<String>,
    /// What the board has written, byte for byte, in base64.
    bytes: String,
}

impl Kept {
    pub(super) fn of(part: &Part, judged: &Judged, bytes: &[u8], expected: &str) -> Self {
        let lines = |text: &str| {
            text.lines()
                .map(|line| line.trim_end().to_owned())
                .collect()
        };
        Self {
            step: part.step,
            name: part.name.to_owned(),
            verdict: judged.verdict,
            why: judged.why.clone(),
            text: lines(&String::from_utf8_lossy(bytes)),
            expected: lines(expected),
            bytes: Base64::encode_string(bytes),
        }
    }

    /// Whether it is of this part.
    pub(super) fn is_of(&self, part: &Part) -> bool {
        self.step == part.step && self.name == part.name
    }

    pub(super) const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// A line of the table.
    pub(super) fn line(&self) -> String {
        format!(
            "  {}  {:<15} {}",
            self.step,
            self.name,
            self.verdict.words()
        )
    }
}

impl Packed {
    /// Reads the file of an earlier check.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is not such a file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        serde_json::from_slice(&text)
            .with_context(|| format!("file {shown} does not contain results of serial --check"))
    }

    /// Writes the file whole, or leaves the one before.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self).context("cannot write JSON")?;
        text.push(b'\n');
        whole::write(path, &text)
    }
}
