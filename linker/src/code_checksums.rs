//! The checksums of an image's code, which tables contain: with them a report compares the code in memory with the code that was linked.

use std::ops::Range;

use anyhow::{Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, elf};
use unwind::ImageTables;
use unwind::sframe::format;

use crate::image::{Image, is_code};
use crate::outermost::named;
use crate::symbols::Symbols;

/// The greatest size of a range, in bytes. A report names the range whose code differs.
const MAX_SIZE: u64 = 16 << 10;
/// Where the code begins and ends that a kernel hands to a report: no range contains these addresses.
const BORDERS: [&[u8]; 2] = [b"__text_start", b"__text_end"];

/// Ranges of code with their checksums, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeChecksums {
    ranges: Vec<(Range<u64>, u32)>,
}

impl CodeChecksums {
    /// Takes the checksums of all code that stays as it was linked: in sections that are executable and not writable, except functions with
    /// the names `patched`, which the kernel changes, and fields that are relocated when the image is loaded.
    ///
    /// # Errors
    /// Returns an error if no function or several functions have a name, or a section is damaged.
    pub fn of(image: &Image<'_>, symbols: &Symbols, patched: &[String]) -> Result<Self> {
        let mut others = relocated(image);
        for name in patched {
            others.push(named(image, symbols, "--sframe-patched", name)?.0);
        }
        others.extend(borders(image));
        others.sort_unstable_by_key(|range| range.start);
        let mut ranges = Vec::new();
        for (start, bytes) in sections(image)? {
            let end = start.saturating_add(bytes.len() as u64);
            let inside = (others.iter())
                .filter(|other| start <= other.end && other.start <= end)
                .map(|other| other.start.max(start)..other.end.min(end));
            let mut at = start;
            for other in inside.chain(std::iter::once(end..end)) {
                while at < other.start {
                    let next = other.start.min(at.saturating_add(MAX_SIZE));
                    let bytes = &bytes[(at - start) as usize..(next - start) as usize];
                    ranges.push((at..next, crc32fast::hash(bytes)));
                    at = next;
                }
                at = at.max(other.end);
            }
        }
        Ok(Self { ranges })
    }

    /// Takes the checksums of the same ranges in another link of the image: code refers to what lies behind the tables, so that its bytes are
    /// others.
    ///
    /// # Errors
    /// Returns an error if the other image has no code in one of the ranges, or a section is damaged.
    pub(crate) fn again(&self, image: &Image<'_>) -> Result<Self> {
        let sections = sections(image)?;
        let ranges = self.ranges.iter().map(|(range, _)| {
            let behind = sections.partition_point(|(start, _)| *start <= range.start);
            let section = behind.checked_sub(1).map(|number| sections[number]);
            let bytes = section.and_then(|(start, bytes)| {
                bytes.get((range.start - start) as usize..(range.end - start) as usize)
            });
            let bytes = bytes.with_context(|| {
                format!(
                    "the first link, without unwind tables, has code at {start:#x}, but the second link, with unwind tables, has no code at that address",
                    start = range.start
                )
            })?;
            Ok((range.clone(), crc32fast::hash(bytes)))
        });
        Ok(Self {
            ranges: ranges.collect::<Result<_>>()?,
        })
    }

    /// Returns the size in a table, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self.ranges.len() {
            0 => 0,
            count => count * format::CODE_CHECKSUM_SIZE + format::CODE_CHECKSUMS_SIZE,
        }
    }

    /// The ranges with their checksums, in ascending order.
    pub(crate) fn ranges(&self) -> &[(Range<u64>, u32)] {
        &self.ranges
    }
}

/// Compares an image's code with the checksums in its tables. Returns the number of bytes in sections that were compared.
///
/// # Errors
/// Returns an error if code differs from the code that was linked, or a section is damaged.
pub fn compare(image: &Image<'_>, tables: &ImageTables<'_>) -> Result<u64> {
    let mut compared = 0;
    for (start, bytes) in sections(image)? {
        if tables.verify_code(bytes, start)?.code {
            compared += bytes.len() as u64;
        }
    }
    Ok(compared)
}

/// The sections with code that nothing writes to, in ascending order. Overlays, which have the same addresses, are left out.
fn sections<'data>(image: &Image<'data>) -> Result<Vec<(u64, &'data [u8])>> {
    let mut sections = Vec::new();
    for section in image.file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
            continue;
        };
        if is_code(section.flags()) && !sh_flags.contains(elf::SHF_WRITE) {
            sections.push((section.address(), section.data()?));
        }
    }
    sections.retain(|(_, bytes)| !bytes.is_empty());
    sections.sort_unstable_by_key(|(start, _)| *start);
    let end = |(start, bytes): &(u64, &[u8])| start.saturating_add(bytes.len() as u64);
    let overlaps = |one, two: &(u64, &[u8])| end(one) > two.0;
    let is_alone = |number: usize| {
        let before = number.checked_sub(1).map(|before| &sections[before]);
        let own = &sections[number];
        before.is_none_or(|before| !overlaps(before, own))
            && sections
                .get(number + 1)
                .is_none_or(|next| !overlaps(own, next))
    };
    let alone = (0..sections.len()).filter(|number| is_alone(*number));
    Ok(alone.map(|number| sections[number]).collect())
}

/// The fields that are relocated when the image is loaded.
fn relocated(image: &Image<'_>) -> Vec<Range<u64>> {
    let relocations = image.file.dynamic_relocations().into_iter().flatten();
    let word = u64::from(image.architecture.word);
    relocations
        .map(|(at, _)| at..at.saturating_add(word))
        .collect()
}

/// The addresses of [`BORDERS`], as empty ranges.
fn borders(image: &Image<'_>) -> impl Iterator<Item = Range<u64>> {
    let symbols = image.file.symbols();
    let borders = symbols.filter(|symbol| {
        symbol
            .name_bytes()
            .is_ok_and(|name| BORDERS.contains(&name))
    });
    borders.map(|symbol| symbol.address()..symbol.address())
}
