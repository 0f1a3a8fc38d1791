//! Reads the functions of a rule map in the input.

use unwind::sframe::Row;
use unwind::{Found, Kept, LookupError, Range, Restored, RowSource, Rules, map};

use crate::architecture::Architecture;
use crate::cfi::Frames;
use crate::function::{Construct, Function, LeftOut, says_the_same};
use crate::symbols::Symbols;

/// What a map has for an address, as a walk reads it.
pub type At = Result<(Row, bool), LookupError>;

/// The row of a map for an address, with offset 0, and whether its function is trap code.
///
/// # Errors
/// Returns an error if the row is missing or damaged.
pub fn row_at(map: &map::Map<'_>, address: u64) -> At {
    let (mut found, mut restored) = (Found::EMPTY, Restored::NONE);
    map.look_up(address, &mut found)?;
    map.restored(address, &mut restored);
    Ok((row(&found.rules, &restored), found.is_trap))
}

/// A row with offset 0 that has these rules.
#[must_use]
pub fn row(rules: &Rules, restored: &Restored) -> Row {
    let mut kept = Kept::ALL;
    for (register, _) in Kept::ALL.rules() {
        kept.set(register, restored.rule(register));
    }
    Row {
        offset: 0,
        cfa: rules.cfa(),
        return_address: rules.return_address(),
        frame_pointer: rules.frame_pointer(),
        signed: rules.is_signed(),
        kept,
    }
}

/// The functions of a map, as if they came from call frame information: what a walk finds at each place where an instruction can begin.
#[must_use]
pub fn functions(map: &map::Map<'_>, architecture: &Architecture) -> Frames {
    let mut frames = Frames::default();
    for range in map.functions() {
        match function(map, range, architecture) {
            Ok(Some(function)) => frames.functions.push(function),
            Ok(None) => {}
            Err(why) => frames.left_out.push(LeftOut {
                start: range.start,
                size: range.end.wrapping_sub(range.start),
                why,
            }),
        }
    }
    frames.sort();
    frames
}

/// Adds functions without rows where a symbol's code has rows before and behind, and none between: so the proof knows that these are parts
/// of one function.
pub fn fill_gaps(frames: &mut Frames, symbols: &Symbols) {
    let mut gaps = Vec::new();
    for pair in frames.functions.windows(2) {
        let [before, after] = pair else { continue };
        let (start, end) = (before.end(), after.start);
        let symbol = symbols.at(before.start).map(|symbol| symbol.start);
        let is_one = symbol.is_some() && symbols.at(after.start).map(|it| it.start) == symbol;
        let size = end.checked_sub(start).map(u32::try_from);
        if let (true, Some(Ok(size @ 1..))) = (is_one, size) {
            gaps.push(Function {
                start,
                size,
                rows: Vec::new(),
                ..before.clone()
            });
        }
    }
    frames.functions.extend(gaps);
    frames.functions.sort_by_key(|function| function.start);
}

/// A function of a map; `None` if it has no code.
fn function(
    map: &map::Map<'_>,
    range: Range,
    architecture: &Architecture,
) -> Result<Option<Function>, Construct> {
    let size = range.end.wrapping_sub(range.start);
    let size = u32::try_from(size).map_err(|_| Construct::TooLong)?;
    let (mut rows, mut signal): (Vec<Row>, Option<bool>) = (Vec::new(), None);
    let mut without = 0_usize;
    for offset in (0..size).step_by(1 << architecture.unit) {
        let (row, is_signal) = match row_at(map, range.start.wrapping_add(offset.into())) {
            Ok((row, is_signal)) => (Some(Row { offset, ..row }), is_signal),
            Err(LookupError::NoRows { signal }) => (None, signal),
            Err(_) => return Err(Construct::Damaged),
        };
        if *signal.get_or_insert(is_signal) != is_signal {
            return Err(Construct::Damaged);
        }
        match row {
            Some(row) if rows.last().is_some_and(|last| says_the_same(last, &row)) => {}
            Some(row) => rows.push(row),
            None => without += 1,
        }
    }
    // All of it has rows, or nothing.
    if without > 0 && !rows.is_empty() {
        return Err(Construct::Damaged);
    }
    Ok((size > 0).then(|| Function {
        start: range.start,
        size,
        rows,
        signal: signal.unwrap_or_default(),
        key_b: false,
        continues: false,
        block: None,
    }))
}
