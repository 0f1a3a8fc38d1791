//! The functions of debug information.

use anyhow::{Context, Result};
use gimli::{DW_TAG_subprogram, Dwarf};

use super::reader::Reader;
use super::sections::Sections;

/// The first addresses of the functions in debug information and of their parts, in no order. Removed functions may be at 0.
///
/// # Errors
/// Returns an error if debug information is damaged.
pub fn of_file(file: &object::File<'_>) -> Result<Vec<u64>> {
    match Sections::of(file, None)? {
        Some(sections) => of(&sections.open()),
        None => Ok(Vec::new()),
    }
}

/// [`of_file`], for debug information that is open.
pub(super) fn of(dwarf: &Dwarf<Reader<'_>>) -> Result<Vec<u64>> {
    let mut starts = Vec::new();
    let mut units = dwarf.units();
    let damaged = "damaged section .debug_info";
    while let Some(header) = units.next().context(damaged)? {
        let unit = dwarf.unit(header).context(damaged)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs().context(damaged)? {
            if entry.tag() != DW_TAG_subprogram {
                continue;
            }
            let mut ranges = dwarf.die_ranges(&unit, entry).context(damaged)?;
            while let Some(range) = ranges.next().context(damaged)? {
                starts.push(range.begin);
            }
        }
    }
    Ok(starts)
}
