//! What is said about a link: functions that a table could not take, and, when asked, numbers.

use std::fmt::Write;

use super::tables::Tables;
use crate::function::LeftOut;
use crate::symbols::Symbol;

/// A line for each function that cannot be unwound or named because its description does not fit the format.
#[must_use]
pub fn left_out(tables: &Tables) -> Vec<String> {
    let mut lines: Vec<String> = tables
        .frames
        .left_out
        .iter()
        .map(|left| left_out_line(tables, left))
        .collect();
    let unnamed = tables.blob.iter().flat_map(|blob| blob.left_out());
    lines.extend(unnamed.map(|(start, name)| {
        format!(
            "left out of .symbols: {name} at {start:#x}: 4 GiB or more from the other functions"
        )
    }));
    lines
}

fn left_out_line(tables: &Tables, left: &LeftOut) -> String {
    let mut line = format!(
        "left out of .sframe: {} at {:#x}, {} bytes",
        tables.name_of(left.start),
        left.start,
        left.size
    );
    if let Some(at) = left.at {
        let _ = write!(line, ", at +{:#x}", at.wrapping_sub(left.start));
    }
    let _ = write!(line, ": {}", left.why);
    line
}

/// Functions by their symbols that have no unwind information at all: assembly without CFI directives.
#[must_use]
pub fn without_frames(tables: &Tables) -> Vec<&Symbol> {
    let functions = &tables.frames.functions;
    let described = |address: u64| {
        let after = functions.partition_point(|function| function.start <= address);
        let before = after.checked_sub(1).map(|index| &functions[index]);
        before.is_some_and(|function| address < function.end())
            || tables
                .frames
                .left_out
                .iter()
                .any(|left| address.wrapping_sub(left.start) < left.size)
    };
    let symbols = tables.symbols.0.iter();
    symbols.filter(|symbol| !described(symbol.start)).collect()
}

/// What `--sframe-stats` writes.
#[must_use]
pub fn stats(tables: &Tables) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    if let Some(table) = &tables.table {
        line(format!(
            ".sframe: {} functions, {} rows ({} stored), {} bytes",
            table.function_count(),
            tables.frames.row_count(),
            table.stored_row_count(),
            table.size(),
        ));
    }
    if let Some(blob) = &tables.blob {
        line(format!(
            ".symbols: {} functions, {} bytes",
            blob.function_count(),
            blob.size(),
        ));
    }
    let left_out = left_out(tables);
    line(format!("left out: {}", left_out.len()));
    for left_out in left_out {
        line(format!("  {left_out}"));
    }
    if tables.table.is_some() {
        let without = without_frames(tables);
        line(format!("without unwind information: {}", without.len()));
        for symbol in without {
            line(format!(
                "  {} at {:#x}, {} bytes",
                tables.names.name(&symbol.name),
                symbol.start,
                symbol.size,
            ));
        }
    }
    text
}
