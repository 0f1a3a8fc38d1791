//! The rows of an image: as its call frame information has them, and as the code corrects them.

use std::collections::HashSet;
use std::ops::Range;

use anyhow::{Result, ensure};

use super::proof::Proof;
use crate::cfi::Frames;
use crate::function::Function;
use crate::image::Image;
use crate::symbols::Symbols;

/// The rows of an image: from its call frame information, and as corrected by the proof.
#[derive(Debug, Default)]
pub struct Rows {
    /// The rows that call frame information gives.
    pub described: Vec<Function>,
    /// The rows after correction.
    pub frames: Frames,
    /// The starts of functions that only the input's own `.sframe` describes.
    pub merged: HashSet<u64>,
    /// What the code proves, if that was wanted and there is an interpreter for its architecture.
    pub proof: Option<Proof>,
}

impl Rows {
    /// Reads an image's call frame information, and corrects it by its code if `repair` is set. `others` are functions from
    /// another source, used for code without call frame information.
    ///
    /// # Errors
    /// Returns an error if call frame information cannot be read, or there is nothing to make rows from.
    pub fn of(image: &Image<'_>, repair: bool, others: Frames, symbols: &Symbols) -> Result<Self> {
        let (mut frames, merged) = Frames::with(image, others)?;
        let described = frames.functions.clone();
        let proof = match repair {
            true => Proof::of(image, &frames, symbols),
            false => None,
        };
        let proof = proof.map(|mut proof| {
            proof.made = proof.mend(image, &mut frames);
            proof
        });
        let without = match repair {
            true => " (no unwind rows could be synthesized from the code)",
            false => "",
        };
        let is_empty = frames.functions.is_empty() && frames.left_out.is_empty();
        ensure!(
            !is_empty || image.architecture.abi.is_some(),
            "the image has no .debug_frame{without}: compile with debug information. If some code has no debug information, \
             keep all symbols, including the mapping symbols $a, $t and $d, so that sframe-link can derive unwind rows from that code"
        );
        ensure!(
            !is_empty,
            "the image has no .eh_frame{without}: compile with -C force-unwind-tables=yes, and keep the section in \
             the linker script"
        );
        Ok(Self {
            described,
            frames,
            merged: merged.into_iter().collect(),
            proof,
        })
    }

    /// The first address in a range, after its first one, at which call frame information or the code has the start of a function.
    #[must_use]
    pub fn start_inside(&self, range: Range<u64>) -> Option<u64> {
        let inside = range.start.saturating_add(1)..range.end;
        if inside.is_empty() {
            return None;
        }
        let described = self.described.iter().map(|function| function.start);
        let described = described.filter(|start| inside.contains(start)).min();
        let proof = self.proof.as_ref();
        let entry = proof.and_then(|proof| proof.entries.range(inside).next().copied());
        described.into_iter().chain(entry).min()
    }

    /// The address ranges whose rows come from the proof alone.
    #[must_use]
    pub fn made(&self) -> Vec<Range<u64>> {
        let Some(proof) = &self.proof else {
            return Vec::new();
        };
        let functions = self.frames.functions.iter();
        functions
            .filter(|function| proof.made.starts.contains(&function.start))
            .map(|function| function.start..function.end())
            .collect()
    }
}
