//! Functions that have no caller, without a directive that says so: the ELF file's entry, and those that a link names.

use std::collections::HashSet;
use std::ops::Range;

use anyhow::{Result, bail};
use object::Object;
use unwind::sframe::{Row, Rule};

use crate::cfi::Frames;
use crate::function::Function;
use crate::image::Image;
use crate::prove::Rows;
use crate::symbols::{Names, Symbol, Symbols, subprograms};

/// The row of a function without a caller.
const ROW: Row = Row {
    offset: 0,
    cfa: Rule::Undefined,
    return_address: Rule::Undefined,
    frame_pointer: Rule::Undefined,
    signed: false,
    kept: unwind::Kept::ALL,
};

/// Gives the functions with these names, and the entry if it has no rows, the row of a function without a caller. `rows` are those of the
/// image.
/// `with_debug`: debug information counts.
///
/// # Errors
/// Returns an error if no function or several functions have a name, or debug information is damaged.
pub fn declare(
    frames: &mut Frames,
    image: &Image<'_>,
    rows: &Rows,
    symbols: &Symbols,
    names: &[String],
    with_debug: bool,
) -> Result<()> {
    for name in names {
        let range = match named(image, symbols, "--sframe-outermost", name)? {
            (range, true) => range,
            (range, false) => bounded(range, image, rows, with_debug)?,
        };
        give(frames, range);
    }
    // 0: a library or an object file.
    let address = Some(image.file.entry()).filter(|address| *address != 0);
    let entry =
        address.and_then(|address| symbols.at(address).filter(|symbol| symbol.start == address));
    if let Some(entry) = entry {
        let range = extent(entry);
        // Rows that are there say more: where its frame begins, and perhaps a caller.
        let is_described = frames
            .functions
            .iter()
            .any(|one| one.start < range.end && range.start < one.end());
        if !is_described {
            let range = match entry.is_sized {
                true => range,
                false => bounded(range, image, rows, with_debug)?,
            };
            give(frames, range);
        }
    }
    Ok(())
}

/// The part of a range that ends where only the next symbol does, up to the first start of a function that anything else knows. Another
/// function may be there whose symbol was discarded, and which has a caller.
fn bounded(
    range: Range<u64>,
    image: &Image<'_>,
    rows: &Rows,
    with_debug: bool,
) -> Result<Range<u64>> {
    let described = rows.start_inside(range.clone());
    let subprograms = match with_debug {
        true => subprograms(&image.file)?,
        false => Vec::new(),
    };
    let inside =
        (subprograms.into_iter()).filter(|start| range.start < *start && *start < range.end);
    let end = described.into_iter().chain(inside).min();
    Ok(range.start..end.unwrap_or(range.end))
}

/// The functions of a table that a link has declared to have no caller: one row says so of all that a symbol is for, and `frames`,
/// made from call frame information and from the code, say something else.
#[must_use]
pub fn declared(table: &[Function], frames: &Frames, symbols: &Symbols) -> Vec<Symbol> {
    let is_there = |function: &Function| frames.functions.iter().any(|one| one == function);
    let functions = table.iter().filter(|one| one.has_no_caller());
    let declared = functions.filter(|one| !is_there(one)).filter_map(|one| {
        let symbol = symbols.at(one.start)?;
        let (its, own) = (extent(symbol), one.start..one.end());
        // The link may have known more starts of functions than the file has now.
        let is_part = !symbol.is_sized && its.start == own.start && own.end <= its.end;
        (its == own || is_part).then(|| Symbol {
            size: one.size.into(),
            ..symbol.clone()
        })
    });
    declared.collect()
}

/// The addresses of [`declared`] functions.
#[must_use]
pub fn starts(table: &[Function], frames: &Frames, symbols: &Symbols) -> HashSet<u64> {
    let declared = declared(table, frames, symbols);
    declared.into_iter().map(|symbol| symbol.start).collect()
}

/// Does for frames what a link did that has declared these functions.
pub fn repeat(frames: &mut Frames, declared: &[Symbol]) {
    declared.iter().for_each(|one| give(frames, extent(one)));
}

/// The code of the function with this name, as the file or as reports have it, and whether the file has its size. `switch` gave the name.
pub(crate) fn named(
    image: &Image<'_>,
    symbols: &Symbols,
    switch: &str,
    name: &str,
) -> Result<(Range<u64>, bool)> {
    let found = Symbols::with_name(&image.file, |its| {
        [its, &Names::Short.name(its), &Names::Full.name(its)].contains(&name)
    });
    let (start, size) = match found.iter().next() {
        None => bail!("{switch}={name}: the image contains no function with this name"),
        Some((&start, &size)) if found.len() == 1 => (start, size),
        Some(_) => {
            let all: Vec<_> = found.keys().map(|start| format!("{start:#x}")).collect();
            bail!(
                "{switch}={name}: {count} functions have the name, at {addresses}; pass the mangled name of one function, or rename a function",
                count = all.len(),
                addresses = all.join(", ")
            )
        }
    };
    // Of assembly without `.size`, up to the next function.
    let own = symbols.at(start).filter(|symbol| symbol.start == start);
    match own.map_or(size, |symbol| symbol.size) {
        0 => bail!("{switch}={name}: the name is a label inside a function, not a function"),
        size => {
            let is_sized = own.is_none_or(|symbol| symbol.is_sized);
            Ok((start..start.saturating_add(size), is_sized))
        }
    }
}

fn extent(symbol: &Symbol) -> Range<u64> {
    symbol.start..symbol.start.saturating_add(symbol.size)
}

/// Replaces all rows of a range.
fn give(frames: &mut Frames, range: Range<u64>) {
    let Ok(size) = u32::try_from(range.end - range.start) else {
        return;
    };
    let mut functions = Vec::with_capacity(frames.functions.len() + 2);
    for function in frames.functions.drain(..) {
        let end = function.end();
        if end <= range.start || range.end <= function.start {
            functions.push(function);
            continue;
        }
        functions.extend(part(&function, function.start..range.start));
        functions.extend(part(&function, range.end..end));
    }
    functions.push(Function {
        start: range.start,
        size,
        rows: vec![ROW],
        signal: false,
        key_b: false,
        continues: false,
        block: None,
    });
    functions.sort_by_key(|function| function.start);
    frames.functions = functions;
    frames.have_rows(&[range]);
}

/// The rows of a function for a part of it; `None` if that is empty.
fn part(function: &Function, range: Range<u64>) -> Option<Function> {
    let size = u32::try_from(range.end.checked_sub(range.start)?).ok()?;
    let before = u32::try_from(range.start - function.start).ok()?;
    let first = function.rows.partition_point(|row| row.offset <= before);
    let rows = function
        .rows
        .get(first.saturating_sub(1)..)
        .unwrap_or_default();
    let rows = rows.iter().map(|row| Row {
        offset: row.offset.saturating_sub(before),
        ..*row
    });
    (size > 0).then(|| Function {
        start: range.start,
        size,
        rows: rows.take_while(|row| row.offset < size).collect(),
        ..function.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unwind::sframe::Base;

    fn row(offset: u32) -> Row {
        let cfa = Rule::Value {
            base: Base::StackPointer,
            offset: 8 + i64::from(offset),
        };
        Row { offset, cfa, ..ROW }
    }

    #[test]
    fn rows_around_it_stay() {
        let mut frames = Frames {
            functions: vec![Function {
                start: 100,
                size: 50,
                rows: vec![row(0), row(5), row(20), row(40)],
                signal: false,
                key_b: false,
                continues: false,
                block: None,
            }],
            ..Frames::default()
        };
        give(&mut frames, 110..130);
        let found: Vec<_> = frames
            .functions
            .iter()
            .map(|one| (one.start, one.size, one.rows.clone()))
            .collect();
        let moved = |offset, row: Row| Row { offset, ..row };
        assert_eq!(
            found,
            [
                (100, 10, vec![row(0), row(5)]),
                (110, 20, vec![ROW]),
                (130, 20, vec![moved(0, row(20)), moved(10, row(40))]),
            ]
        );
    }
}
