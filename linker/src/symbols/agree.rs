//! Whether the function of the symbol table and the debug information at an address are of one function.
//!
//! A symbol's size can be wrong, a symbol can be missing, and a linker leaves debug information of removed functions at address 0. A line that
//! is of another function than the name is worse than no line.

use std::ops::Range;

use addr2line::Frame;
use gimli::{DW_AT_language, DW_LANG_Mips_Assembler, UnitOffset, UnitRef};

use super::reader::{Addresses, Reader};
use super::removed::REMOVED;
use super::split::{Split, resolve};

/// What is looked up in.
type Context<'c, 'a> = (&'c Addresses<Reader<'a>>, &'c Split<'a>);

/// Frames at one address: most have no more.
const TYPICAL_DEPTH: usize = 8;

/// The outermost function at an address, by debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Subprogram {
    /// Its entry in its unit.
    entry: UnitOffset,
    /// The address of its name in memory: entries of two units may have the same offset.
    name: usize,
}

/// Why lines are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// Debug information has another function there.
    Other,
    /// Debug information has a line there, without a function. The line may be that of an inlined function.
    NoFunction,
    /// The same, because a `.dwo` file is missing.
    Split,
    /// Debug information has a removed function there.
    Removed,
}

/// The last result. Most instructions are in the function of the one before.
#[derive(Clone, Debug)]
struct Last {
    start: Option<u64>,
    subprogram: Subprogram,
    range: Range<u64>,
    result: Result<(), Disagreement>,
}

/// Compares the function of the symbol table with that of debug information.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    last: Option<Last>,
}

impl Agreement {
    /// The frames at an address, innermost first, by debug information. It must be that of the function that starts at `start`; `None`: no
    /// symbol is known. `is_name` compares the name of the outermost frame with that of the symbol.
    ///
    /// # Errors
    /// Returns why the lines at the address are not those of the function.
    pub fn frames<'c, 'a>(
        &mut self,
        (addresses, split): Context<'c, 'a>,
        address: u64,
        start: Option<u64>,
        is_name: impl Fn(&Frame<'c, Reader<'a>>) -> bool,
    ) -> Result<Vec<Frame<'c, Reader<'a>>>, Disagreement> {
        let mut frames = Vec::with_capacity(TYPICAL_DEPTH);
        // Damaged debug information is none: that of other addresses may be whole.
        if let Ok(mut all) = resolve(addresses.find_frames(address), split) {
            while let Some(frame) = all.next().ok().flatten() {
                frames.push(frame);
            }
        }
        if let Some(outermost) = frames.last() {
            let function = outermost.function.as_ref();
            let subprogram = outermost.dw_die_offset.map(|entry| Subprogram {
                entry,
                name: function.map_or(0, |function| function.name.slice().as_ptr().addr()),
            });
            let is_name = || is_name(outermost);
            self.check((addresses, split), address, start, subprogram, is_name)?;
        }
        Ok(frames)
    }

    fn check(
        &mut self,
        context: Context<'_, '_>,
        address: u64,
        start: Option<u64>,
        subprogram: Option<Subprogram>,
        is_name: impl Fn() -> bool,
    ) -> Result<(), Disagreement> {
        if let (Some(last), Some(subprogram)) = (&self.last, subprogram)
            && (last.start, last.subprogram) == (start, subprogram)
            && last.range.contains(&address)
        {
            return last.result;
        }
        let unit = unit(context, address).ok_or(Disagreement::NoFunction)?;
        let Some(subprogram) = subprogram else {
            return without(context, unit, start);
        };
        let ranges = ranges(unit, subprogram.entry).unwrap_or_default();
        let range = ranges.iter().find(|range| range.contains(&address));
        let range = range.cloned().ok_or(Disagreement::Other)?;
        // The symbol is that of the function, or of one of its parts.
        let begins = |start| ranges.iter().any(|range| range.start == start);
        let is_part = |start| range.contains(&start) && is_assembly(unit);
        let is_of = start.is_none_or(|start| begins(start) || is_part(start));
        let is_removed = range.start <= REMOVED && !is_name();
        let result = match (is_of, is_removed) {
            (true, false) => Ok(()),
            (_, true) => Err(Disagreement::Removed),
            (false, false) => Err(Disagreement::Other),
        };
        self.last = Some(Last {
            start,
            subprogram,
            range,
            result,
        });
        result
    }
}

fn unit<'c, 'a>(
    (addresses, split): Context<'c, 'a>,
    address: u64,
) -> Option<UnitRef<'c, Reader<'a>>> {
    resolve(addresses.find_dwarf_and_unit(address), split)
}

/// Checks a line without a function: nothing can be inlined there if it is of assembly. Then the unit must be that of the symbol.
fn without(
    context: Context<'_, '_>,
    of_line: UnitRef<'_, Reader<'_>>,
    start: Option<u64>,
) -> Result<(), Disagreement> {
    if !is_assembly(of_line) {
        return Err(match of_line.dwo_id {
            Some(_) => Disagreement::Split,
            None => Disagreement::NoFunction,
        });
    }
    let own = start.and_then(|start| unit(context, start));
    match own.is_some_and(|own| std::ptr::eq(own.unit, of_line.unit)) {
        true => Ok(()),
        false => Err(Disagreement::Other),
    }
}

/// The ranges of an entry; `None` if it is damaged.
fn ranges(unit: UnitRef<'_, Reader<'_>>, entry: UnitOffset) -> Option<Vec<Range<u64>>> {
    let entry = unit.entry(entry).ok()?;
    let mut all = unit.die_ranges(&entry).ok()?;
    let mut ranges = Vec::new();
    while let Some(range) = all.next().ok()? {
        ranges.push(range.begin..range.end);
    }
    Some(ranges)
}

fn is_assembly(unit: UnitRef<'_, Reader<'_>>) -> bool {
    let language = || {
        let mut entries = unit.entries();
        entries.next_entry().ok()?;
        entries.current()?.attr_value(DW_AT_language)
    };
    language() == Some(gimli::AttributeValue::Language(DW_LANG_Mips_Assembler))
}
