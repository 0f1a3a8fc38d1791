//! Compares the lines in `.symbols` with debug information as it is, without what the table was made with: not `addr2line`, and not the frames
//! in [`Code`]. What both of them get wrong is found here.
//!
//! Each line needs a witness: a function of debug information that begins where the function in the table does, with the same functions inlined
//! at the address, each at its line, and a row of the same unit with the innermost line. Of a path, the last part is compared.

mod named;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use gimli::{
    AttributeValue, DW_AT_call_file, DW_AT_call_line, DW_AT_language, DW_LANG_Mips_Assembler,
    DW_TAG_inlined_subroutine, DW_TAG_subprogram, DwLang, Dwarf, UnitRef,
};
use rustc_hash::FxHashMap;
use unwind::symbols::{Answer, Precision, SymbolTable};

use super::code::Code;
use super::compare::Difference;
use super::lines::Texts;
use super::reader::Reader;
use super::sections::Sections;
use super::split::Files;
use super::{Names, printable};

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

/// A line and the number of its file's name in [`Witnesses::texts`].
type Place = (u64, u32);

/// A call of an inlined function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    /// The depth in the tree of entries.
    depth: isize,
    /// Where the call is.
    place: Place,
    /// The number of the function's name in [`Witnesses::texts`].
    name: u32,
}

/// Calls of inlined functions, with the ranges of these.
type Calls = Vec<(Range<u64>, Call)>;

/// A unit: its lines, and whether it is of assembly.
struct Unit {
    lines: Ranges<Place>,
    is_assembly: bool,
}

/// A function with code of its own.
struct Subprogram {
    unit: usize,
    starts: Vec<u64>,
    inlined: Ranges<Call>,
}

/// A frame in an answer of the table.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// The number of the name in [`Witnesses::texts`]; `None`: debug information has no such name.
    name: Option<u32>,
    line: u64,
    file: Option<u32>,
}

/// All functions and lines of an image's debug information.
struct Witnesses {
    units: Vec<Unit>,
    subprograms: Vec<Subprogram>,
    /// Indices in `subprograms`.
    by_address: Ranges<usize>,
    /// The units of assembly.
    assembly: Vec<usize>,
    /// The names of functions and files.
    texts: Texts,
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
    let Some(witnesses) = Witnesses::of(file, package, code.style)? else {
        return Ok(Vec::new());
    };
    let mut differences = Vec::new();
    for instruction in code.pieces.iter().flat_map(|piece| &piece.instructions) {
        let address = instruction.start;
        let Some(answer) = table.resolve(address) else {
            continue;
        };
        let number = |text: &str| witnesses.texts.known(text);
        // Outermost first.
        let shown: Vec<Shown> = answer
            .frames()
            .rev()
            .map(|frame| {
                let place = frame.place();
                Shown {
                    name: number(&frame.name.to_string()),
                    line: place.map_or(0, |(_, line)| line.into()),
                    file: place.and_then(|(file, _)| number(named::last_part(&file.to_string()))),
                }
            })
            .collect();
        let has_lines = shown.iter().any(|frame| frame.line != 0);
        if has_lines && !witnesses.has(address, &answer, &shown) {
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
                expected: "source lines of a function that starts at the address".to_owned(),
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
    fn of(file: &object::File<'_>, package: Option<&Path>, names: Names) -> Result<Option<Self>> {
        let Some(sections) = Sections::of(file, None)? else {
            return Ok(None);
        };
        let dwarf = Arc::new(sections.open());
        let files = Files::of(&dwarf, package)?;
        let split = files.open(&dwarf);
        let damaged = "damaged section .debug_info";
        let own = parsed(&dwarf).context(damaged)?;
        let mut found = Found {
            names,
            texts: Texts::default(),
            subprograms: Vec::new(),
            ranges: Vec::new(),
        };
        let mut units = Vec::with_capacity(own.len());
        for (index, unit) in own.iter().enumerate() {
            let whole = UnitRef::new(&dwarf, unit);
            let language = language(whole).context(damaged)?;
            units.push(Unit {
                lines: lines(whole, &mut found.texts).context("damaged section .debug_line")?,
                is_assembly: language == Some(DW_LANG_Mips_Assembler),
            });
            match unit.dwo_id.and_then(|id| split.get(&id)) {
                None => found.add(whole, whole, index, &own).context(damaged)?,
                Some(other) => {
                    let mut others = parsed(other).context(damaged)?;
                    let Some(first) = others.first_mut() else {
                        continue;
                    };
                    first.copy_relocated_attributes(unit);
                    let split = UnitRef::new(other, &others[0]);
                    found.add(split, whole, index, &others).context(damaged)?;
                }
            }
        }
        let assembly = (0..units.len()).filter(|unit| units[*unit].is_assembly);
        Ok(Some(Self {
            assembly: assembly.collect(),
            units,
            subprograms: found.subprograms,
            by_address: Ranges::new(found.ranges),
            texts: found.texts,
        }))
    }

    /// Whether an answer with these frames, outermost first, has a witness.
    fn has(&self, address: u64, answer: &Answer<'_, '_>, shown: &[Shown]) -> bool {
        let is_at = |frame: &Shown, (line, file): Place| {
            frame.line == 0 || frame.line == line && frame.file == Some(file)
        };
        let has_row = |unit: usize, frame: &Shown| {
            let mut rows = self.units[unit].lines.at(address);
            frame.line == 0 || rows.any(|row| is_at(frame, *row))
        };
        let is_witness = |subprogram: &usize| {
            let subprogram = &self.subprograms[*subprogram];
            let mut calls: Vec<Call> = subprogram.inlined.at(address).copied().collect();
            calls.sort_unstable();
            let is_complete = match answer.precision {
                Precision::Exact => shown.len() == calls.len() + 1,
                _ => shown.len() == 1,
            };
            // The line of a frame is that of the call in it; the innermost one has the row's.
            let places = calls.iter().map(Some).chain([None]);
            let mut inlined = calls.iter().zip(&shown[1..]);
            subprogram.starts.contains(&answer.start)
                && is_complete
                && inlined.all(|(call, frame)| frame.name == Some(call.name))
                && shown.iter().zip(places).all(|(frame, call)| match call {
                    Some(call) => is_at(frame, call.place),
                    None => has_row(subprogram.unit, frame),
                })
        };
        let mut assembly = self.assembly.iter();
        self.by_address.at(address).any(is_witness)
            || matches!(shown, [frame] if assembly.any(|unit| has_row(*unit, frame)))
    }
}

/// All units, ascending by their offsets.
fn parsed<'a>(dwarf: &Dwarf<Reader<'a>>) -> gimli::Result<Vec<gimli::Unit<Reader<'a>>>> {
    let mut units = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        units.push(dwarf.unit(header)?);
    }
    Ok(units)
}

fn language(unit: UnitRef<'_, Reader<'_>>) -> gimli::Result<Option<DwLang>> {
    let mut entries = unit.entries();
    entries.next_entry()?;
    let root = entries.current();
    let language = root.and_then(|root| root.attr_value(DW_AT_language));
    Ok(match language {
        Some(AttributeValue::Language(language)) => Some(language),
        _ => None,
    })
}

/// The lines of a unit. Those of no line are left out.
fn lines(unit: UnitRef<'_, Reader<'_>>, texts: &mut Texts) -> gimli::Result<Ranges<Place>> {
    let mut ranges = Vec::new();
    let Some(program) = unit.line_program.clone() else {
        return Ok(Ranges::new(ranges));
    };
    let mut rows = program.rows();
    let mut last: Option<(u64, Place)> = None;
    let mut numbers = FxHashMap::default();
    while let Some((_, row)) = rows.next_row()? {
        if let Some((start, place)) = last.take()
            && start < row.address()
        {
            ranges.push((start..row.address(), place));
        }
        if let Some(line) = row.line().filter(|_| !row.end_sequence()) {
            let file = match numbers.get(&row.file_index()) {
                Some(number) => *number,
                None => {
                    let name = named::file(unit, row.file_index())?;
                    let number = texts.number(&name.unwrap_or_default());
                    numbers.insert(row.file_index(), number);
                    number
                }
            };
            last = Some((row.address(), (line.get(), file)));
        }
    }
    Ok(Ranges::new(ranges))
}

/// The functions that were found.
struct Found {
    names: Names,
    texts: Texts,
    subprograms: Vec<Subprogram>,
    /// Indices in `subprograms`.
    ranges: Vec<(Range<u64>, usize)>,
}

impl Found {
    /// Adds the functions of a unit, each with what is inlined into it. `files` is the unit in the image, whose numbers of files a split one
    /// has, too. `units` are all units of the debug information of `unit`.
    fn add<'u, 'a>(
        &mut self,
        unit: UnitRef<'u, Reader<'a>>,
        files: UnitRef<'_, Reader<'a>>,
        index: usize,
        units: &'u named::Units<'a>,
    ) -> gimli::Result<()> {
        // Functions in functions: the index and the depth of each in the tree.
        let mut open: Vec<(usize, isize)> = Vec::new();
        let mut found: Vec<(Vec<u64>, Calls)> = Vec::new();
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
                let number = self.subprograms.len() + found.len();
                found.push((ranges.iter().map(|range| range.start).collect(), Vec::new()));
                self.ranges
                    .extend(ranges.into_iter().map(|range| (range, number)));
            } else if let Some((last, _)) = open.last() {
                let number = |attribute| {
                    let value = entry.attr_value(attribute);
                    value.and_then(|value| match value {
                        AttributeValue::FileIndex(index) => Some(index),
                        other => other.udata_value(),
                    })
                };
                let line = number(DW_AT_call_line).unwrap_or(0);
                let file = named::file(files, number(DW_AT_call_file).unwrap_or(0))?;
                let name = named::function(unit, entry.offset(), units, self.names)?;
                let call = Call {
                    depth,
                    place: (line, self.texts.number(&file.unwrap_or_default())),
                    name: self.texts.number(&name.unwrap_or_default()),
                };
                let inlined = ranges.into_iter().map(|range| (range, call));
                found[*last].1.extend(inlined);
            }
        }
        let new = found.into_iter().map(|(starts, inlined)| Subprogram {
            unit: index,
            starts,
            inlined: Ranges::new(inlined),
        });
        self.subprograms.extend(new);
        Ok(())
    }
}
