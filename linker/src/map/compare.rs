//! Compares a map with the `.sframe` of the same functions.

use std::fmt;

use unwind::sframe::Tables;
use unwind::{Found, LookupError, RowSource, map};

use crate::function::Function;
use crate::unproven::Unproven;

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// How many addresses were looked up.
    pub addresses: usize,
    /// Where map and tables differ.
    pub differences: Vec<Difference>,
}

/// An address for which map and tables say different things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The address.
    pub address: u64,
    /// What the map says.
    pub map: Result<Found, LookupError>,
    /// What the tables say.
    pub tables: Result<Found, LookupError>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            map,
            tables,
        } = self;
        write!(
            f,
            "{address:#x}: the unwind rule map contains {map:?}, but .sframe contains {tables:?}"
        )
    }
}

/// Compares a map with tables, as walks read them: at the first and the last byte of each row, of each repetition of it, and at
/// the bytes before and behind each function. Between these nothing can change: look-ups compare addresses only with them, and
/// the map has no other changes, as both are made from these functions and this list of unproven ranges.
#[must_use]
pub fn compare(
    map: &map::Map<'_>,
    tables: &Tables<'_>,
    functions: &[Function],
    unproven: Option<&Unproven>,
) -> Comparison {
    let mut comparison = Comparison::default();
    for function in functions {
        let block = function.block.map_or(function.size, u32::from).max(1);
        for start in (0..function.size).step_by(block as usize) {
            let starts = function.rows.iter().map(|row| row.offset);
            let offsets = starts.filter(|offset| *offset < block);
            for offset in offsets.chain([0, block]) {
                let first = u64::from(start) + u64::from(offset);
                let first = function.start.wrapping_add(first.min(function.size.into()));
                comparison.at(first.wrapping_sub(1), map, tables);
                comparison.at(first, map, tables);
            }
        }
    }
    for (range, _) in unproven.into_iter().flat_map(Unproven::pieces) {
        for at in [range.start, range.end] {
            comparison.at(at.wrapping_sub(1), map, tables);
            comparison.at(at, map, tables);
        }
    }
    comparison
}

impl Comparison {
    /// Looks an address up in both.
    pub(super) fn at(&mut self, address: u64, map: &map::Map<'_>, tables: &Tables<'_>) {
        self.addresses += 1;
        let (in_map, in_tables) = (look_up(map, address), look_up(tables, address));
        let covered = map.covers(address) == tables.covers(address);
        let before = address.wrapping_sub(1);
        let joined = in_map.is_ok_and(|found| map.is_one_function(&found, before));
        let in_one = in_tables.is_ok_and(|found| found.range.holds(before, 1));
        // Where the map has found a row is the map's own matter.
        let in_map = in_map.map(|found| Found { place: 0, ..found });
        // In a map, rules of trap code have no mark of a signed return address: see `format::SIGNED`.
        let in_tables = in_tables.map(|found| match found.is_trap {
            true => Found {
                rules: found.rules.with_signed(false),
                ..found
            },
            false => found,
        });
        if in_map != in_tables || !covered || joined != in_one {
            self.differences.push(Difference {
                address,
                map: in_map,
                tables: in_tables,
            });
        }
    }
}

/// What a source has for an address, and all of its function.
pub(super) fn look_up(source: &impl RowSource, address: u64) -> Result<Found, LookupError> {
    let mut found = Found::EMPTY;
    source.look_up(address, &mut found)?;
    found.range = source.function(address).unwrap_or(found.range);
    Ok(found)
}
