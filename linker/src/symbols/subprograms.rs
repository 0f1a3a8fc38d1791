//! The functions of debug information.

use anyhow::{Context, Result};
use gimli::DW_TAG_subprogram;

use super::lines::Sections;

/// The first addresses of the functions in debug information and of their parts, in no order. Removed functions may be at 0.
///
/// # Errors
/// Debug information is damaged.
pub fn subprograms(file: &object::File<'_>) -> Result<Vec<u64>> {
    let Some(sections) = Sections::of(file)? else {
        return Ok(Vec::new());
    };
    let dwarf = sections.open();
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
