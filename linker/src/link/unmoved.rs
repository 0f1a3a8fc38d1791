//! Checks that the second link has all code where the first had it: sections, symbols, call frame information and instructions.

use anyhow::{Result, bail, ensure};
use object::{Object, ObjectSection, SectionFlags, elf};

use super::place::is_of_tables;
use super::tables::Tables;
use crate::cfi::{Frames, Source};
use crate::image::Image;
use crate::parallel::both;
use crate::symbols::{Coding, Decoded, Symbols, printable};

/// The advice for code that moves between the two links.
const MOVED: &str =
    "in the linker script, add INCLUDE tables.ld after every section that contains code";

/// The code of the first link, and its call frame information.
pub(super) struct First {
    source: Source,
    code: Vec<Code>,
}

/// An executable section.
#[derive(PartialEq, Eq)]
struct Code {
    name: Vec<u8>,
    address: u64,
    bytes: Vec<u8>,
}

impl First {
    /// Copies both.
    ///
    /// # Errors
    /// Returns an error if a section is outside the file.
    pub(super) fn of(image: &Image<'_>) -> Result<Self> {
        Ok(Self {
            source: Source::of(image)?,
            code: code(image)?,
        })
    }
}

impl Tables {
    /// Checks that the second link has everything at the same addresses as the first.
    ///
    /// # Errors
    /// Returns an error if code moved.
    pub(super) fn check_unmoved(&self, image: &Image<'_>, first: &First) -> Result<()> {
        let (frames, symbols) = both(
            || self.check_unmoved_frames(image, &first.source),
            || self.check_unmoved_symbols(image),
        );
        frames.and(symbols)?;
        self.check_unmoved_code(image, &first.code)
    }

    /// Compares executable sections, which is all that there is of code without symbols and call frame information. Their bytes may differ
    /// where they refer to what follows the tables, so that only the instructions are compared.
    fn check_unmoved_code(&self, image: &Image<'_>, first: &[Code]) -> Result<()> {
        let second = code(image)?;
        for (before, after) in first.iter().zip(&second) {
            let name = printable(&String::from_utf8_lossy(&before.name)).into_owned();
            let (from, to) = (before.address, after.address);
            ensure!(
                before.name == after.name && from == to,
                "adding the unwind tables moved sections with code (before: {name} at {from:#x}, after: {other} at {to:#x}): {MOVED}",
                other = printable(&String::from_utf8_lossy(&after.name)),
            );
            let (from, to) = (before.bytes.len(), after.bytes.len());
            ensure!(
                from == to,
                "section {name} has {from} bytes of code in the link without unwind tables, but {to} bytes in the link with unwind tables: {MOVED}"
            );
        }
        ensure!(
            first.len() == second.len(),
            "the second link, with unwind tables, has {second} sections with code, but the first link had {first} sections with code",
            second = second.len(),
            first = first.len(),
        );
        let coding = Coding::of(&image.file);
        let mut found = 0;
        for function in &self.frames.functions {
            let (start, size) = (function.start, function.size as usize);
            let bytes = |code: &[Code]| Some(bytes(code, start)?.get(..size)?.to_vec());
            let (Some(before), Some(after)) = (bytes(first), bytes(&second)) else {
                continue;
            };
            found += 1;
            if before != after
                && let Some(offset) = difference(coding, &before, &after, start)
            {
                bail!(
                    "the instruction in {function} at {address:#x} differs between the links with and without unwind tables: {MOVED}",
                    function = self.name_of(start),
                    address = start + u64::from(offset),
                );
            }
        }
        ensure!(
            found > 0 || self.frames.functions.is_empty(),
            "none of the {count} functions with unwind rows is in a section with code",
            count = self.frames.functions.len(),
        );
        Ok(())
    }

    fn check_unmoved_frames(&self, image: &Image<'_>, first: &Source) -> Result<()> {
        // It is read again only if it is not the same, byte for byte: references to data may differ.
        if !self.has_rows() || Source::of(image)? == *first {
            return Ok(());
        }
        let frames = Frames::of(image)?;
        let own = self.described.iter();
        let before = own.filter(|function| !self.merged.contains(&function.start));
        let moved = before
            .clone()
            .zip(&frames.functions)
            .find(|(before, after)| before != after);
        if let Some((before, after)) = moved {
            let name = self.name_of(before.start);
            let (from, to) = (before.start, after.start);
            ensure!(
                from == to,
                "function {name} is at {from:#x} in the link without unwind tables, but at {to:#x} in the link with unwind tables: {MOVED}",
            );
            bail!(
                "the unwind information of {name} at {from:#x} differs between the links with and without unwind tables"
            );
        }
        let before = before.count();
        ensure!(
            before == frames.functions.len(),
            "the second link, with unwind tables, has unwind information for {after} functions, but the first link had unwind information for {before} functions",
            after = frames.functions.len(),
        );
        Ok(())
    }

    fn check_unmoved_symbols(&self, image: &Image<'_>) -> Result<()> {
        let symbols = Symbols::of(&image.file);
        let moved = self
            .symbols
            .0
            .iter()
            .zip(&symbols.0)
            .find(|(before, after)| before != after);
        if let Some((before, after)) = moved {
            bail!(
                "adding the unwind tables moved or changed symbols (before: {before} at {from:#x}, after: {after} at {to:#x}): {MOVED}",
                before = printable(&before.name),
                from = before.start,
                after = printable(&after.name),
                to = after.start,
            );
        }
        let (before, after) = (self.symbols.0.len(), symbols.0.len());
        ensure!(
            before == after,
            "the second link, with unwind tables, has {after} function symbols, but the first link had {before} function symbols"
        );
        Ok(())
    }
}

/// The executable sections that have bytes, except the tables: old versions of lld give these the flags of the section before them.
fn code(image: &Image<'_>) -> Result<Vec<Code>> {
    let sections = image.file.sections().filter(|section| {
        matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_EXECINSTR))
            && section.size() > 0
            && !section.name().is_ok_and(is_of_tables)
    });
    let code = sections.map(|section| {
        Ok(Code {
            name: section.name_bytes()?.to_vec(),
            address: section.address(),
            bytes: section.data()?.to_vec(),
        })
    });
    code.collect()
}

/// The bytes from an address to the end of its section.
fn bytes(code: &[Code], address: u64) -> Option<&[u8]> {
    code.iter().find_map(|code| {
        let from = usize::try_from(address.checked_sub(code.address)?).ok()?;
        code.bytes.get(from..)
    })
}

/// The offset of the first instruction that has another size, or that is a call in only one of the two. A linker may replace others, if what they
/// refer to is near enough.
fn difference(coding: Coding, before: &[u8], after: &[u8], address: u64) -> Option<u32> {
    let [before, after] = [before, after].map(|code| coding.decode(code, address));
    let is_same = |one: &Decoded, other: &Decoded| {
        (one.offset, one.length, one.is_call) == (other.offset, other.length, other.is_call)
    };
    let mut pairs = before.iter().zip(&after);
    pairs
        .find(|(one, other)| !is_same(one, other))
        .map(|(one, _)| one.offset)
}
