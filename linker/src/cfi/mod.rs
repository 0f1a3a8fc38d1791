//! Call frame information (`.eh_frame`, `.debug_frame`) to functions with rows.
//!
//! gimli interprets the call frame instructions, with an unbounded stack for `remember_state`, to a table of rules for each
//! function. Each row of that table becomes an SFrame row, or its code is left out, with the construct that SFrame cannot
//! express.

mod augmentation;
mod expression;
mod function;
pub mod landing;
mod removed;
mod rules;
mod section;

use std::ops::Range;

use anyhow::{Context, Error, Result};
use gimli::{BaseAddresses, DebugFrame, EhFrame, EndianSlice, RunTimeEndian};
use object::Object;

use crate::architecture::Architecture;
use crate::function::{Construct, Function, LeftOut};
use crate::image::Image;
use augmentation::Kind;
use removed::Live;

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The functions of an image's call frame information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Ascending by start; they do not overlap.
    pub functions: Vec<Function>,
    /// Ascending by start. A signal frame that rows cannot describe is here and, without rows, in `functions`, too.
    pub left_out: Vec<LeftOut>,
}

/// All that [`Frames::of`] reads of an image: from two images with the same, it reads the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    eh_frame: Vec<(u64, Vec<u8>)>,
    debug_frame: Option<Vec<u8>>,
    live: Live,
    bases: [Option<u64>; 2],
}

impl Source {
    /// Copies it.
    ///
    /// # Errors
    /// Returns an error if a section is outside the file.
    pub fn of(image: &Image<'_>) -> Result<Self> {
        let sections = image.sections(".eh_frame")?;
        let address = |name| Ok::<_, Error>(image.section(name)?.map(|section| section.address));
        Ok(Self {
            eh_frame: sections
                .iter()
                .map(|section| (section.address, section.data.to_vec()))
                .collect(),
            debug_frame: image
                .uncompressed(".debug_frame")?
                .map(|(_, data)| data.into_owned()),
            live: Live::of(image),
            bases: [address(".text")?, address(".got")?],
        })
    }
}

impl Frames {
    /// How many rows all functions have.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.functions.iter().map(|f| f.rows.len()).sum()
    }

    /// Removes ranges, which have rows now, from the code that is left out: ascending.
    pub(crate) fn have_rows(&mut self, ranges: &[Range<u64>]) {
        let mut rest = Vec::with_capacity(self.left_out.len());
        for left in self.left_out.drain(..) {
            let end = left.start.saturating_add(left.size);
            let mut start = left.start;
            let first = ranges.partition_point(|range| range.end <= start);
            let own = ranges[first..].iter().take_while(|range| range.start < end);
            for range in own.chain([&(end..end)]) {
                if start < range.start {
                    rest.push(LeftOut {
                        start,
                        size: range.start - start,
                        why: left.why.clone(),
                    });
                }
                start = start.max(range.end);
            }
        }
        self.left_out = rest;
    }

    /// Whether an address is in a function, or in code that is left out.
    #[must_use]
    pub fn covers(&self, address: u64) -> bool {
        let after = self.functions.partition_point(|one| one.start <= address);
        let function = after.checked_sub(1).map(|index| &self.functions[index]);
        function.is_some_and(|function| address < function.end())
            || self
                .left_out
                .iter()
                .any(|left| address.wrapping_sub(left.start) < left.size)
    }

    /// Reads an image's `.eh_frame`, and its `.debug_frame` for code that `.eh_frame` does not describe: assembly and C for
    /// bare metal often have only the latter.
    ///
    /// # Errors
    /// Returns an error if the damage of a section prevents a list of its entries.
    pub fn of(image: &Image<'_>) -> Result<Self> {
        Ok(Self::with(image, Self::default())?.0)
    }

    /// [`Self::of`], with the functions of `others` for code that neither section describes. Also returns the starts of the
    /// functions added.
    ///
    /// # Errors
    /// Returns an error if [`Self::of`] does.
    pub fn with(image: &Image<'_>, others: Self) -> Result<(Self, Vec<u64>)> {
        let mut frames = Self::find(image)?;
        let added = frames.add(others);
        Ok((frames, added))
    }

    /// The functions in the image's own sections; none if there are no such sections.
    fn find(image: &Image<'_>) -> Result<Self> {
        let eh_frame = image.sections(".eh_frame")?;
        let debug_frame = image.uncompressed(".debug_frame")?;
        let architecture = image.architecture;
        let endian = if image.file.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        let mut frames = Self::default();
        for section in eh_frame.iter().filter(|one| !one.data.is_empty()) {
            let mut bases = BaseAddresses::default().set_eh_frame(section.address);
            if let Some(text) = image.section(".text")? {
                bases = bases.set_text(text.address);
            }
            if let Some(got) = image.section(".got")? {
                bases = bases.set_got(got.address);
            }
            let more =
                Self::parse(architecture, section.data, endian, &bases).with_context(|| {
                    format!(
                        "cannot read section .eh_frame at offset {offset}",
                        offset = section.offset
                    )
                })?;
            frames.add(more);
        }
        if let Some((offset, data)) = debug_frame {
            let live = Live::of(image);
            let more = Self::parse_debug_frame(architecture, &data, endian, &live)
                .with_context(|| format!("cannot read section .debug_frame at offset {offset}"))?;
            frames.add(more);
        }
        Ok(frames)
    }

    /// Reads the bytes of an `.eh_frame`.
    ///
    /// # Errors
    /// Returns an error if the damage of the section prevents a list of its entries.
    pub fn parse(
        architecture: &'static Architecture,
        data: &[u8],
        endian: RunTimeEndian,
        bases: &BaseAddresses,
    ) -> Result<Self> {
        let (data, letters) = augmentation::replace_letters(data, Kind::EhFrame, endian);
        let mut section = EhFrame::new(&data, endian);
        section.set_address_size(architecture.word);
        section.set_vendor(architecture.vendor);
        let mut frames = section::read(architecture, &section, bases, &letters, None)?;
        frames.sort();
        Ok(frames)
    }

    /// Reads the bytes of a `.debug_frame`. Linkers keep the entries of removed code, with invalid addresses; `live` filters
    /// them.
    fn parse_debug_frame(
        architecture: &'static Architecture,
        data: &[u8],
        endian: RunTimeEndian,
        live: &Live,
    ) -> Result<Self> {
        let (data, letters) = augmentation::replace_letters(data, Kind::DebugFrame, endian);
        let mut section = DebugFrame::new(&data, endian);
        section.set_address_size(architecture.word);
        section.set_vendor(architecture.vendor);
        let bases = BaseAddresses::default();
        let mut frames = section::read(architecture, &section, &bases, &letters, Some(live))?;
        frames.sort();
        Ok(frames)
    }

    /// Adds the functions, and left out code, of `others` that overlap nothing here. Returns the starts of the functions added.
    fn add(&mut self, others: Self) -> Vec<u64> {
        let mut known: Vec<(u64, u64)> = self
            .functions
            .iter()
            .map(|function| (function.start, function.end()))
            .chain(
                self.left_out
                    .iter()
                    .map(|left| (left.start, left.start.saturating_add(left.size))),
            )
            .collect();
        known.sort_unstable();
        // Replace each end by the largest one so far, so that one binary search finds any overlap.
        let mut last = 0;
        for (_, end) in &mut known {
            last = last.max(*end);
            *end = last;
        }
        let is_new = |start: u64, size: u64| {
            let before = known.partition_point(|&(known, _)| known < start.saturating_add(size));
            before == 0 || known[before - 1].1 <= start
        };
        let functions = others.functions.into_iter();
        let new: Vec<Function> = functions
            .filter(|one| is_new(one.start, one.size.into()))
            .collect();
        let starts = new.iter().map(|function| function.start).collect();
        self.functions.extend(new);
        let left_out = others.left_out.into_iter();
        self.left_out
            .extend(left_out.filter(|one| is_new(one.start, one.size)));
        self.functions.sort_by_key(|function| function.start);
        self.left_out.sort_by_key(|left| left.start);
        starts
    }

    /// Sorts, and keeps the first in the section of several functions that overlap.
    pub(crate) fn sort(&mut self) {
        self.functions.sort_by_key(|function| function.start);
        let mut kept: Vec<Function> = Vec::with_capacity(self.functions.len());
        for function in self.functions.drain(..) {
            match kept.last() {
                Some(last) if function.start < last.end() => {
                    // Identical code folding leaves equal entries, of which one is enough.
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
