//! Lines of functions whose code a linker has replaced by the equal code of another function: linkers leave them at the address of the other one.

use anyhow::{Context, Result};
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line, DW_AT_specification,
    DW_TAG_subprogram, DebuggingInformationEntry, Dwarf, Section, UnitRef,
};
use rustc_hash::FxHashSet;

use super::reader::Reader;
use super::removed::{Part, parts};

/// Where a function is declared, in its unit: the number of the file, and the line.
type Declared = (u64, u64);

/// Returns where in the section `.debug_line` the addresses of these parts are: those at one of `shared`, the starts of functions with code of
/// several, which are not of the function that debug information has there.
///
/// # Errors
/// Returns an error if debug information is damaged.
pub(super) fn operands(
    dwarf: &Dwarf<Reader<'_>>,
    shared: &FxHashSet<u64>,
    word: u8,
) -> Result<Vec<usize>> {
    let mut operands = Vec::new();
    let mut units = dwarf.units();
    let damaged = "damaged section .debug_info";
    while let Some(header) = units.next().context(damaged)? {
        let unit = dwarf.unit(header).context(damaged)?;
        let Some(program) = &unit.line_program else {
            continue;
        };
        let at = program.header().offset().0;
        let section = *dwarf.debug_line.reader();
        let all = parts(section, at, word)
            .context("damaged section .debug_line")?
            .0;
        if all.iter().all(|part| !shared.contains(&part.start)) {
            continue;
        }
        let functions = declared(unit.unit_ref(dwarf)).context(damaged)?;
        for start in shared {
            let here: Vec<&Part> = all.iter().filter(|part| part.start == *start).collect();
            let own = functions.iter().find(|(at, _)| at == start);
            let own = own.and_then(|(_, own)| owned(&here, *own, &functions));
            let others = here.iter().filter(|part| own != Some(part.operand));
            operands.extend(others.map(|part| part.operand));
        }
    }
    Ok(operands)
}

/// The part of a function among those at its address; `None` if that cannot be told.
fn owned(here: &[&Part], own: Declared, functions: &[(u64, Declared)]) -> Option<usize> {
    if let [only] = here {
        return Some(only.operand);
    }
    // A part begins at the line of its function, or a few lines after it.
    let is_between = |line: u64, part: &Part| {
        let mut others = functions.iter().map(|(_, declared)| declared);
        others.any(|(file, other)| *file == part.file && (line + 1..=part.line).contains(other))
    };
    let mut owned = here.iter().filter(|part| {
        let (file, line) = own;
        part.file == file && part.line >= line && !is_between(line, part)
    });
    let found = owned.next()?;
    owned.next().is_none().then_some(found.operand)
}

/// The functions of a unit: where each starts, and where it is declared.
fn declared(unit: UnitRef<'_, Reader<'_>>) -> gimli::Result<Vec<(u64, Declared)>> {
    let mut functions = Vec::new();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        if entry.tag() != DW_TAG_subprogram {
            continue;
        }
        let mut ranges = unit.die_ranges(entry)?;
        if let (Some(range), Some(declared)) = (ranges.next()?, place(unit, entry, 4)) {
            functions.push((range.begin, declared));
        }
    }
    Ok(functions)
}

/// Where an entry, or the one that it refers to, is declared.
fn place(
    unit: UnitRef<'_, Reader<'_>>,
    entry: &DebuggingInformationEntry<Reader<'_>>,
    references: usize,
) -> Option<Declared> {
    let number = |name| entry.attr_value(name)?.udata_value();
    let file = match entry.attr_value(DW_AT_decl_file) {
        Some(AttributeValue::FileIndex(file)) => Some(file),
        other => other.and_then(|value| value.udata_value()),
    };
    if let (Some(file), Some(line)) = (file, number(DW_AT_decl_line)) {
        return Some((file, line));
    }
    let origin = [DW_AT_abstract_origin, DW_AT_specification]
        .into_iter()
        .find_map(|name| match entry.attr_value(name)? {
            AttributeValue::UnitRef(offset) => Some(offset),
            _ => None,
        })?;
    place(unit, &unit.entry(origin).ok()?, references.checked_sub(1)?)
}
