//! `sframe check`: `.sframe` against `.eh_frame`.

use std::io::{self, Write};

use anyhow::Result;

use super::Subject;
use crate::cfi::Frames;
use crate::function::LeftOut;
use crate::image::Image;
use crate::sframe::{Comparison, compare};

/// What a check found.
#[derive(Debug)]
pub struct Check {
    /// The comparison.
    pub comparison: Comparison,
    /// Functions that `.sframe` cannot describe, and need not.
    pub left_out: Vec<LeftOut>,
}

/// Compares a file's `.sframe` with its `.eh_frame`, at both ends of every row.
///
/// # Errors
/// The file has not both, or they cannot be read.
pub fn check(data: &[u8]) -> Result<Check> {
    let image = Image::parse(data)?;
    let subject = Subject::parse(data)?;
    let mut frames = Frames::of(&image)?;
    // What the format cannot hold is not missing.
    let _ = crate::sframe::Table::new(image.architecture, &mut frames);
    Ok(Check {
        comparison: compare(&subject.tables, &frames.functions),
        left_out: frames.left_out,
    })
}

impl Check {
    /// Whether the tables say what they should.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.comparison.differences.is_empty()
    }

    /// Writes what was compared, and every difference.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let comparison = &self.comparison;
        for difference in &comparison.differences {
            writeln!(out, "{difference}")?;
        }
        for left in &self.left_out {
            let LeftOut { start, size, why } = left;
            writeln!(
                out,
                "{start:#x}, {size} bytes: not in SFrame's words: {why}"
            )?;
        }
        writeln!(
            out,
            "{} functions, {} rows, {} addresses compared: {} differences",
            comparison.functions,
            comparison.rows,
            comparison.addresses,
            comparison.differences.len(),
        )
    }
}
