//! Call frame information (`.eh_frame`) to functions with rows.
//!
//! gimli interprets the instructions, with an unbounded stack for `remember_state`; what it yields is a full table of
//! rules for each function. Here each row of that table becomes an SFrame row, or the function is left out and the
//! construct that cannot be said is named.

mod augmentation;
mod expression;
mod function;
mod rules;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::{Context, Result, anyhow};
use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, RunTimeEndian, UnwindSection};
use object::Object;

use crate::architecture::Architecture;
use crate::function::{Construct, Function, LeftOut};
use crate::image::Image;

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
type Cie<'a> = gimli::CommonInformationEntry<Slice<'a>>;

/// What an image's `.eh_frame` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Ascending by start; they do not overlap.
    pub functions: Vec<Function>,
    /// Ascending by start. Code of a signal frame that rows cannot describe is here and, without rows, in `functions`.
    pub left_out: Vec<LeftOut>,
}

impl Frames {
    /// Rows of all functions.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.functions.iter().map(|f| f.rows.len()).sum()
    }

    /// Reads an image's `.eh_frame`.
    ///
    /// # Errors
    /// There is none, or its entries cannot be told apart.
    pub fn of(image: &Image<'_>) -> Result<Self> {
        let section = image
            .section(".eh_frame")?
            .filter(|section| !section.data.is_empty())
            .ok_or_else(|| {
                anyhow!(
                    "no .eh_frame to make tables from: compile with -C force-unwind-tables=yes, and keep the section \
                     in the linker script"
                )
            })?;
        let mut bases = BaseAddresses::default().set_eh_frame(section.address);
        if let Some(text) = image.section(".text")? {
            bases = bases.set_text(text.address);
        }
        if let Some(got) = image.section(".got")? {
            bases = bases.set_got(got.address);
        }
        let endian = if image.file.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        Self::parse(image.architecture, section.data, endian, &bases)
            .with_context(|| format!("section .eh_frame at offset {} is damaged", section.offset))
    }

    /// Reads the bytes of an `.eh_frame`.
    ///
    /// # Errors
    /// Its entries cannot be told apart.
    pub fn parse(
        architecture: &'static Architecture,
        data: &[u8],
        endian: RunTimeEndian,
        bases: &BaseAddresses,
    ) -> Result<Self> {
        let (data, letters) = augmentation::understand(data, endian);
        let mut section = EhFrame::new(&data, endian);
        section.set_address_size(8);
        section.set_vendor(architecture.vendor);
        let mut converter = function::Converter::new(architecture, &section, bases);
        let mut cies: HashMap<usize, Cie<'_>> = HashMap::new();
        let mut frames = Self::default();
        let mut entries = section.entries(bases);
        while let Some(entry) = entries.next()? {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let fde = partial.parse(|section, bases, offset| match cies.entry(offset.0) {
                Entry::Occupied(known) => Ok(known.get().clone()),
                Entry::Vacant(unknown) => {
                    let cie = section.cie_from_offset(bases, offset)?;
                    Ok(unknown.insert(cie).clone())
                }
            })?;
            // An entry without code describes nothing; linkers leave such behind for code they removed.
            if fde.len() > 0 {
                let letters = letters
                    .get(&fde.cie().offset())
                    .copied()
                    .unwrap_or_default();
                converter.convert(&fde, letters, &mut frames);
            }
        }
        frames.sort();
        Ok(frames)
    }

    /// Sorts, and keeps one of several functions that claim the same code: the first in the section.
    fn sort(&mut self) {
        self.functions.sort_by_key(|function| function.start);
        let mut kept: Vec<Function> = Vec::with_capacity(self.functions.len());
        for function in self.functions.drain(..) {
            match kept.last() {
                Some(last) if function.start < last.end() => {
                    // Folding of identical code leaves equal entries, which are no loss.
                    if *last != function {
                        self.left_out.push(LeftOut {
                            start: function.start,
                            size: function.size.into(),
                            why: Construct::Overlaps(last.start),
                        });
                    }
                }
                _ => kept.push(function),
            }
        }
        self.functions = kept;
        self.left_out.sort_by_key(|left| left.start);
    }
}
