//! Compares a map with the functions that it should describe.

use std::collections::HashSet;

use unwind::sframe::Row;
use unwind::{Range, RowSource, map};

use super::compare::look_up;
use super::read::row_at;
use crate::function::Function;
use crate::sframe::{Comparison, Difference, Mismatch};

/// Compares a map, as walks read it, with functions: at the first and the last byte of each row, and at the ends of each function. Between
/// these nothing can change that the map does not say: see [`super::compare`].
#[must_use]
pub fn compare_with(map: &map::Map<'_>, functions: &[Function]) -> Comparison {
    let mut comparison = Comparison {
        functions: functions.len(),
        ..Comparison::default()
    };
    let ranges = whole(functions);
    for (function, range) in functions.iter().zip(&ranges) {
        comparison.rows += function.rows.len();
        let mut differ = |address, what| {
            let difference = Difference { address, what };
            comparison.differences.push(difference);
        };
        let ends = function.rows.iter().skip(1).map(|row| row.offset);
        let ends = ends.chain([function.size]);
        for (row, end) in function.rows.iter().zip(ends) {
            for offset in [row.offset, end.saturating_sub(1)] {
                comparison.addresses += 1;
                let address = function.start.wrapping_add(offset.into());
                if let Some(what) = differs(map, address, function, row) {
                    differ(address, what);
                }
            }
        }
        if function.rows.is_empty() && look_up(map, function.start).is_ok() {
            differ(function.start, Mismatch::Function("list of rows"));
        }
        if let Some(what) = another_range(map, *range) {
            differ(function.start, Mismatch::Function(what));
        }
    }
    let expected: HashSet<u64> = ranges.iter().map(|range| range.start).collect();
    let others = map.functions().map(|range| range.start);
    let unexpected = others.filter(|start| !expected.contains(start));
    let unexpected = unexpected.map(|address| Difference {
        address,
        what: Mismatch::Unexpected,
    });
    comparison.differences.extend(unexpected);
    comparison
}

/// The range of the whole function that each is, or is a part of.
fn whole(functions: &[Function]) -> Vec<Range> {
    let parts = functions.chunk_by(|before, after| after.continues && before.end() == after.start);
    let ranges = parts.flat_map(|parts| {
        let start = parts.first().map_or(0, |first| first.start);
        let end = parts.last().map_or(0, Function::end);
        parts.iter().map(move |_| Range::new(start, end))
    });
    ranges.collect()
}

/// What a map has for an address, if that is not this row of this function.
fn differs(map: &map::Map<'_>, address: u64, function: &Function, row: &Row) -> Option<Mismatch> {
    let expected = Row {
        offset: 0,
        // In a map, rules of trap code have no such mark: see `format::SIGNED`.
        signed: row.signed && !function.signal,
        ..*row
    };
    match row_at(map, address) {
        Ok((found, _)) if found != expected => Some(Mismatch::Row {
            found: Box::new(found),
            expected: Box::new(expected),
        }),
        Ok((_, signal)) if signal != function.signal => Some(Mismatch::Function("signal mark")),
        Ok(_) => None,
        Err(error) => Some(Mismatch::Missing(error)),
    }
}

/// What of a function's range is another in a map.
fn another_range(map: &map::Map<'_>, range: Range) -> Option<&'static str> {
    let (start, end) = (range.start, range.end);
    let of = |address| RowSource::function(map, address);
    let joined =
        |at: u64, other: u64| look_up(map, at).is_ok_and(|it| map.is_one_function(&it, other));
    match (of(start), of(end.wrapping_sub(1))) {
        (Some(first), _) if first.start != start => Some("start"),
        (Some(first), Some(last)) if first.end != end || last != first => Some("size"),
        _ if joined(start, start.wrapping_sub(1)) => Some("start"),
        _ if joined(end.wrapping_sub(1), end) => Some("size"),
        _ => None,
    }
}
