//! Compares the lines in `.symbols` with debug information as it is, without what the table was made with: not `addr2line`, and not the frames
//! in [`Code`]. What both of them get wrong is found here.
//!
//! Each line needs a witness: a function of debug information that begins where the function in the table does, with as many functions inlined
//! at the address, each at its line, and a row of the same unit with the innermost line.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use gimli::{
    AttributeValue, DW_AT_call_line, DW_AT_language, DW_LANG_Mips_Assembler,
    DW_TAG_inlined_subroutine, DW_TAG_subprogram, UnitRef,
};
use unwind::symbols::{Answer, Precision, SymbolTable};

use super::code::Code;
use super::compare::Difference;
use super::printable;
use super::reader::Reader;
use super::sections::Sections;
use super::split::Files;

/// Ranges with values, in which all that contain an address are found.
struct Ranges<T> {
    /// Ascending by start, each with the largest end so far.
    all: Vec<(Range<u64>, u64, T)>,
}

impl<T> Ranges<T> {
    fn new(mut ranges: Vec<(Range<u64>, T)>) -> Self {
        ranges.sort_by_key(|(range, _)| range.start);
        let mut largest = 0;
        let all = ranges.into_iter().map(|(range, value)| {
            largest = largest.max(range.end);
            (range, largest, value)
        });
        Self { all: all.collect() }
    }

    fn at(&self, address: u64) -> impl Iterator<Item = &T> {
        let after = self
            .all
            .partition_point(|(range, ..)| range.start <= address);
        let before = self.all[..after].iter().rev();
        let near = before.take_while(move |(_, largest, _)| *largest > address);
        near.filter(move |(range, ..)| range.contains(&address))
            .map(|(.., value)| value)
    }
}

/// The range of an inlined function, its depth in the tree of entries, and the line of its call.
type Inlined = (Range<u64>, (isize, u64));

/// A unit: its lines, and whether it is of assembly.
struct Unit {
    lines: Ranges<u64>,
    is_assembly: bool,
}

/// A function with code of its own.
struct Subprogram {
    unit: usize,
    starts: Vec<u64>,
    /// The depths and the lines of calls of inlined functions.
    inlined: Ranges<(isize, u64)>,
}

/// All functions and lines of an image's debug information.
struct Witnesses {
    units: Vec<Unit>,
    subprograms: Vec<Subprogram>,
    /// Indices in `subprograms`.
    by_address: Ranges<usize>,
    /// The units of assembly.
    assembly: Vec<usize>,
}

/// Compares the lines of a table, at each instruction of `code`. `file` is the image, `package` the path of its `.dwp` file,
/// which need not exist.
///
/// # Errors
/// Returns an error if debug information is damaged.
pub fn witness(
    file: &object::File<'_>,
    table: &SymbolTable<'_>,
    code: &Code,
    package: Option<&Path>,
) -> Result<Vec<Difference>> {
    let Some(witnesses) = Witnesses::of(file, package)? else {
        return Ok(Vec::new());
    };
    let mut differences = Vec::new();
    for instruction in code.pieces.iter().flat_map(|piece| &piece.instructions) {
        let address = instruction.start;
        let Some(answer) = table.resolve(address) else {
            continue;
        };
        // Outermost first; 0 is not known.
        let lines: Vec<u64> = answer
            .frames()
            .rev()
            .map(|frame| frame.place().map_or(0, |(_, line)| line.into()))
            .collect();
        let has_lines = lines.iter().any(|line| *line != 0);
        if has_lines && !witnesses.has(address, &answer, &lines) {
            let frames: Vec<String> = answer
                .frames()
                .map(|frame| match frame.place() {
                    Some((file, line)) => format!("{} at {file}:{line}", frame.name),
                    None => frame.name.to_string(),
                })
                .collect();
            differences.push(Difference {
                address,
                found: printable(&frames.join(", in ")).into_owned(),
                expected: "lines of a function that starts there".to_owned(),
            });
        }
    }
    Ok(differences)
}

impl std::fmt::Debug for Witnesses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witnesses")
            .field("units", &self.units.len())
            .finish_non_exhaustive()
    }
}

impl Witnesses {
    /// Reads the debug information of an image; `None` if there is none. `package` is the path of its `.dwp` file, which need not exist.
    ///
    /// # Errors
    /// Returns an error if debug information is damaged.
    fn of(file: &object::File<'_>, package: Option<&Path>) -> Result<Option<Self>> {
        let Some(sections) = Sections::of(file, None)? else {
            return Ok(None);
        };
        let dwarf = Arc::new(sections.open());
        let files = Files::of(&dwarf, package)?;
        let split = files.open(&dwarf);
        let (mut units, mut subprograms, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        let damaged = "damaged section .debug_info";
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().context(damaged)? {
            let unit = dwarf.unit(header).context(damaged)?;
            let own = UnitRef::new(&dwarf, &unit);
            let index = units.len();
            units.push(Unit {
                lines: lines(own).context("damaged section .debug_line")?,
                is_assembly: is_assembly(own).context(damaged)?,
            });
            let mut add = |unit| functions(unit, index, &mut subprograms, &mut ranges);
            match unit.dwo_id.and_then(|id| split.get(&id)) {
                None => add(own).context(damaged)?,
                Some(other) => {
                    let header = other.units().next().context(damaged)?;
                    let Some(header) = header else { continue };
                    let mut whole = other.unit(header).context(damaged)?;
                    whole.copy_relocated_attributes(&unit);
                    add(UnitRef::new(other, &whole)).context(damaged)?;
                }
            }
        }
        let assembly = (0..units.len()).filter(|unit| units[*unit].is_assembly);
        Ok(Some(Self {
            assembly: assembly.collect(),
            units,
            subprograms,
            by_address: Ranges::new(ranges),
        }))
    }

    /// Whether an answer with these lines, outermost first, has a witness.
    fn has(&self, address: u64, answer: &Answer<'_, '_>, lines: &[u64]) -> bool {
        let has_row = |unit: usize, line: u64| {
            line == 0 || self.units[unit].lines.at(address).any(|row| *row == line)
        };
        let is_witness = |subprogram: &usize| {
            let subprogram = &self.subprograms[*subprogram];
            let mut calls: Vec<(isize, u64)> = subprogram.inlined.at(address).copied().collect();
            calls.sort_unstable();
            // The line of a frame is that of the call in it; the innermost one has the row's.
            let all = calls.iter().map(|(_, line)| Some(*line)).chain([None]);
            let is_complete = match answer.precision {
                Precision::Exact => lines.len() == calls.len() + 1,
                _ => lines.len() == 1,
            };
            subprogram.starts.contains(&answer.start)
                && is_complete
                && lines.iter().zip(all).all(|(line, call)| match call {
                    Some(call) => *line == 0 || *line == call,
                    None => has_row(subprogram.unit, *line),
                })
        };
        let mut assembly = self.assembly.iter();
        self.by_address.at(address).any(is_witness)
            || matches!(lines, [line] if assembly.any(|unit| has_row(*unit, *line)))
    }
}

fn is_assembly(unit: UnitRef<'_, Reader<'_>>) -> gimli::Result<bool> {
    let mut entries = unit.entries();
    entries.next_entry()?;
    let language = entries
        .current()
        .and_then(|root| root.attr_value(DW_AT_language));
    Ok(language == Some(AttributeValue::Language(DW_LANG_Mips_Assembler)))
}

/// The lines of a unit. Those of no line are left out.
fn lines(unit: UnitRef<'_, Reader<'_>>) -> gimli::Result<Ranges<u64>> {
    let mut ranges = Vec::new();
    let Some(program) = unit.line_program.clone() else {
        return Ok(Ranges::new(ranges));
    };
    let mut rows = program.rows();
    let mut last: Option<(u64, u64)> = None;
    while let Some((_, row)) = rows.next_row()? {
        if let Some((start, line)) = last.take()
            && start < row.address()
        {
            ranges.push((start..row.address(), line));
        }
        if !row.end_sequence() {
            last = row.line().map(|line| (row.address(), line.get()));
        }
    }
    Ok(Ranges::new(ranges))
}

/// Adds the functions of a unit, each with what is inlined into it.
fn functions(
    unit: UnitRef<'_, Reader<'_>>,
    index: usize,
    subprograms: &mut Vec<Subprogram>,
    by_address: &mut Vec<(Range<u64>, usize)>,
) -> gimli::Result<()> {
    // Functions in functions: the index and the depth of each in the tree.
    let mut open: Vec<(usize, isize)> = Vec::new();
    let mut found: Vec<(Vec<u64>, Vec<Inlined>)> = Vec::new();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        let depth = entry.depth();
        while open.pop_if(|(_, outer)| depth <= *outer).is_some() {}
        let tag = entry.tag();
        if tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine {
            continue;
        }
        let mut ranges = Vec::new();
        let mut all = unit.die_ranges(entry)?;
        while let Some(range) = all.next()? {
            ranges.push(range.begin..range.end);
        }
        if tag == DW_TAG_subprogram {
            open.push((found.len(), depth));
            let number = subprograms.len() + found.len();
            found.push((ranges.iter().map(|range| range.start).collect(), Vec::new()));
            by_address.extend(ranges.into_iter().map(|range| (range, number)));
        } else if let Some((last, _)) = open.last() {
            let line = entry.attr_value(DW_AT_call_line);
            let line = line.and_then(|line| line.udata_value()).unwrap_or(0);
            let inlined = ranges.into_iter().map(|range| (range, (depth, line)));
            found[*last].1.extend(inlined);
        }
    }
    let new = found.into_iter().map(|(starts, inlined)| Subprogram {
        unit: index,
        starts,
        inlined: Ranges::new(inlined),
    });
    subprograms.extend(new);
    Ok(())
}
