//! Reads the functions of `.sframe` tables in the input.

use anyhow::{Context, Result};
use unwind::sframe::{Function as Entry, Row, Tables};

use crate::cfi::Frames;
use crate::function::{Construct, Function, LeftOut, says_the_same};

/// The functions in `tables`, as if they came from call frame information.
///
/// # Errors
/// Returns an error if the damage of the tables prevents a list of their functions.
pub fn functions(tables: &Tables<'_>) -> Result<Frames> {
    let mut frames = Frames::default();
    for section in tables.sections() {
        let section = section?;
        for index in 0..section.function_count() {
            let entry = section.function(index).with_context(|| {
                format!("the rows of function {index} are outside the unwind table")
            })?;
            if entry.size() == 0 {
                continue;
            }
            match rows(&entry) {
                Some(rows) => frames.functions.push(Function {
                    start: entry.start(),
                    size: entry.size(),
                    rows,
                    signal: entry.is_signal_frame(),
                    key_b: entry.uses_key_b(),
                    continues: false,
                    block: block(&entry),
                }),
                None => frames.left_out.push(LeftOut {
                    start: entry.start(),
                    size: entry.size().into(),
                    why: Construct::Damaged,
                }),
            }
        }
    }
    frames.sort();
    Ok(frames)
}

/// The block size of repeated blocks (PC-mask), which is stored in one byte.
fn block(entry: &Entry<'_>) -> Option<u8> {
    entry.is_pc_mask().then_some(entry.block_size() as u8)
}

/// The rows, without those that have no effect: after the function's end, as GNU as up to 2.44 wrote them; replaced by the
/// next one at the same offset; equal to the one before. `None`: they are damaged, or the first one is not at offset 0.
fn rows(entry: &Entry<'_>) -> Option<Vec<Row>> {
    let end = match block(entry) {
        Some(0) => return None,
        Some(block) => entry.size().min(block.into()),
        None => entry.size(),
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut count = 0;
    for row in entry.rows() {
        count += 1;
        if row.offset >= end {
            continue;
        }
        let last = rows.last().map(|last| last.offset);
        if last.is_some_and(|last| row.offset < last) {
            return None;
        }
        if last == Some(row.offset) {
            rows.pop();
        }
        rows.push(row);
    }
    rows.dedup_by(|row, last| says_the_same(last, row));
    let complete = count == entry.row_count();
    // A function without rows is valid: a link writes it where it has withdrawn all rows.
    let starts = rows.first().map_or(count == 0, |row| row.offset == 0);
    (complete && starts).then_some(rows)
}
