//! Messages about a link: warnings for functions without rows, and statistics.

use super::tables::Tables;
use crate::counted::counted;
use crate::covered::advice;
use crate::function::LeftOut;
use crate::prove::origin::Count;
use crate::symbols::{Disagreement, Symbol, printable};

/// A line for each function that has no rows, with the reason.
#[must_use]
pub fn left_out(tables: &Tables) -> Vec<String> {
    let left_out = tables.frames.left_out.iter();
    left_out.map(|left| left_out_line(tables, left)).collect()
}

/// A warning if the requested level could not be made.
#[must_use]
pub fn fewer_levels(tables: &Tables) -> Option<String> {
    let (wanted, made) = (tables.wanted?, tables.blob.as_ref()?.level());
    if made == wanted {
        return None;
    }
    let why = if tables.code.has_lines {
        "for the architecture of the image, sframe-link cannot recognize calls or instructions that can fault"
    } else {
        "the image has no debug information: compile with debug = \"limited\" (-C debuginfo=1)"
    };
    Some(format!(
        "the link used --symbols={made} instead of --symbols={wanted}: {why}"
    ))
}

/// Warnings for code whose lines are left out: one for each reason.
#[must_use]
pub fn unlined(tables: &Tables) -> Vec<String> {
    let code = &tables.code;
    let mut lines = Vec::new();
    if let Some(first) = code.missing.first() {
        lines.push(format!(
            "no line information for {units}, because the .dwo files (first: {path}) cannot be read: keep the .dwo files until the image is linked, or \
             compile without -gsplit-dwarf (rustc: -C split-debuginfo=off)",
            units = counted(code.missing.len(), "compilation unit"),
            path = printable(&first.to_string_lossy()),
        ));
    }
    for (why, text) in [
        (
            Disagreement::Other,
            "debug information and the symbol table name different functions at the address. Correct the symbol sizes (.size directives), and do not remove symbols",
        ),
        (
            Disagreement::NoFunction,
            "debug information has lines but no function at the address: compile with debug = \"limited\" (-C debuginfo=1). For gcc, add -fno-ipa-icf, because gcc omits the debug information of merged identical functions",
        ),
        (
            Disagreement::Removed,
            "debug information of removed functions overlaps the addresses of linked functions: link the code at a higher address",
        ),
    ] {
        let mut of_reason = code.unlined.iter().filter(|one| one.why == why);
        let Some(first) = of_reason.next() else {
            continue;
        };
        let name = code.names.text(code.functions[first.function].name);
        lines.push(format!(
            "no line information for code in {functions} (first: {name} at {address:#x}): {text}",
            functions = counted(1 + of_reason.count(), "function"),
            address = first.address,
        ));
    }
    lines
}

/// A warning if the rule map that is wanted could not be made.
#[must_use]
pub fn no_map(tables: &Tables) -> Option<String> {
    let Some(Err(why)) = &tables.map else {
        return None;
    };
    Some(match &tables.table {
        Some(_) => {
            format!("the image uses .sframe, because the link created no unwind rule map: {why}")
        }
        None => format!("the link created no unwind rule map: {why}"),
    })
}

/// Returns a warning if less than `least` percent of the code have rows.
#[must_use]
pub fn covers_little(tables: &Tables, least: u8, repair: bool) -> Option<String> {
    let covered = &tables.covered;
    let line = || {
        let share = covered.of_table(tables.rows_section());
        format!("{share}: {advice}", advice = advice(!repair))
    };
    (!covered.is_at_least(least)).then(line)
}

fn left_out_line(tables: &Tables, left: &LeftOut) -> String {
    let LeftOut { start, size, why } = left;
    let name = place_of(tables, *start).unwrap_or_else(|| "code without a symbol name".to_owned());
    let table = tables.rows_section();
    format!("no unwind rows in {table} for {name} at {start:#x} ({size} bytes): {why}")
}

/// The function at an address, with the offset in it unless that is 0.
pub(super) fn place_of(tables: &Tables, address: u64) -> Option<String> {
    let symbol = tables.symbols.at(address)?;
    let name = tables.names.name(&symbol.name);
    Some(match address - symbol.start {
        0 => name,
        offset => format!("{name}+{offset:#x}"),
    })
}

/// Function symbols without any unwind information: assembly without CFI directives.
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

/// A line for each table that was made, with its content and its size.
#[must_use]
pub fn sizes(tables: &Tables) -> Vec<String> {
    let mut lines = Vec::new();
    match (tables.loaded_map(), &tables.table) {
        (Some(map), Some(_)) => lines.push(format!(".unwind_map: {} bytes", map.size())),
        (Some(map), None) => lines.push(format!(
            ".unwind_map: {functions} functions, {rows} rows, {bytes} bytes",
            functions = tables.frames.functions.len(),
            rows = tables.frames.row_count(),
            bytes = map.size(),
        )),
        (None, _) => {}
    }
    if let Some(table) = &tables.table {
        lines.push(format!(
            ".sframe: {functions} functions, {rows} rows (stored as {stored} rows after deduplication), {bytes} bytes",
            functions = table.function_count(),
            rows = tables.frames.row_count(),
            stored = table.stored_row_count(),
            bytes = table.size(),
        ));
    }
    if tables.has_rows() {
        let named = tables.origins().named(tables.rows_section());
        let others = named
            .iter()
            .skip(1)
            .filter(|(_, count)| *count != Count::default());
        for (origin, count) in others {
            lines.push(format!(
                "functions and unwind rows that are {origin}: {functions} functions, {rows} rows",
                functions = count.functions,
                rows = count.rows
            ));
        }
        lines.push(tables.covered.of_table(tables.rows_section()).to_string());
    }
    lines.extend(proof(tables));
    lines.extend(unproven(tables));
    if let Some(blob) = &tables.blob {
        lines.push(format!(
            ".symbols: level of detail {level}, {functions} functions, {rows} rows, {bytes} bytes",
            level = blob.level(),
            functions = blob.function_count(),
            rows = blob.row_count(),
            bytes = blob.size(),
        ));
    }
    lines
}

/// The results of the proof.
fn proof(tables: &Tables) -> Option<String> {
    let proof = tables.proof.as_ref()?;
    let tally = &proof.tally;
    Some(format!(
        "unwind rows were verified for {verified} of {code} bytes of code. Call frame information contradicts the code at {places}: unwind rows were corrected for {corrected} bytes and removed for {removed} bytes",
        verified = tally.decided(),
        code = tally.code(),
        places = counted(tables.contradictions.len(), "place"),
        corrected = tally.mended,
        removed = tally.withdrawn,
    ))
}

/// Returns a line with the number of bytes whose rows are unproven.
fn unproven(tables: &Tables) -> Option<String> {
    let unproven = tables.unproven.as_ref()?;
    let rows = tables.frames.functions.iter();
    let rows = rows.filter(|function| !function.rows.is_empty());
    let all: u64 = rows.map(|function| u64::from(function.size)).sum();
    Some(format!(
        "{bytes} of {all} bytes of code have unproven unwind rows, in {ranges}",
        bytes = unproven.bytes(),
        ranges = counted(unproven.ranges().len(), "range"),
    ))
}

/// The text that `--sframe-stats` writes.
#[must_use]
pub fn stats(tables: &Tables) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    sizes(tables).into_iter().for_each(&mut line);
    let left_out = left_out(tables);
    line(format!(
        "functions left out of the unwind tables: {count}",
        count = left_out.len()
    ));
    for left_out in left_out {
        line(format!("  {left_out}"));
    }
    if tables.has_rows() {
        let without = without_frames(tables);
        line(format!(
            "functions without unwind information: {count}",
            count = without.len()
        ));
        for symbol in without {
            line(format!(
                "  {name} at {start:#x}, {size} bytes",
                name = tables.names.name(&symbol.name),
                start = symbol.start,
                size = symbol.size,
            ));
        }
    }
    text
}
