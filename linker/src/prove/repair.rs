//! Corrects functions' rows by the proof: keeps right ones, replaces or removes wrong ones, and makes missing ones.

use std::collections::BTreeSet;

use unwind::sframe::Row;

use super::unit::{Found, Span};
use crate::cfi::Frames;
use crate::function::{Construct, Function, LeftOut, says_the_same};

/// An address range with one row, or without one.
pub(crate) struct Part {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) row: Option<Row>,
    /// The range is trap code.
    pub(crate) signal: bool,
}

/// Corrects the functions of call frame information by `spans`, which are ascending. `is_handler` tells whether the function
/// that starts at an address is an interrupt handler.
#[must_use]
pub fn mend(
    functions: Vec<Function>,
    spans: &[Span],
    is_handler: impl Fn(u64) -> bool,
) -> Vec<Function> {
    let mut mended = Vec::with_capacity(functions.len());
    for function in functions {
        let first = spans.partition_point(|span| span.end <= function.start);
        let after = spans.partition_point(|span| span.start < function.end());
        let own = spans.get(first..after).unwrap_or(&[]);
        let is_right = |span: &Span| !matches!(span.found, Found::Mended(_) | Found::Withdrawn(_));
        if function.block.is_some() || own.iter().all(is_right) {
            mended.push(function);
            continue;
        }
        let function = Function {
            signal: function.signal || is_handler(function.start),
            ..function
        };
        let changed = own.iter().filter_map(|span| {
            let row = match &span.found {
                Found::Mended(row) => Some(**row),
                Found::Withdrawn(_) => None,
                _ => return None,
            };
            Some(Part {
                start: span.start,
                end: span.end,
                row,
                signal: function.signal,
            })
        });
        mended.extend(with(&function, changed));
    }
    mended
}

/// A function with these parts in place of its own, as functions: ascending.
pub(crate) fn with(function: &Function, changed: impl Iterator<Item = Part>) -> Vec<Function> {
    let mut parts = Vec::new();
    let mut at = function.start;
    for part in changed {
        let (start, end) = (part.start.max(function.start), part.end.min(function.end()));
        unchanged(function, at, start, &mut parts);
        parts.push(Part { start, end, ..part });
        at = end;
    }
    unchanged(function, at, function.end(), &mut parts);
    let pieces = pieces(&parts).into_iter().enumerate();
    let pieces = pieces.map(|(number, piece)| Function {
        key_b: function.key_b,
        continues: function.continues || number > 0,
        ..piece
    });
    pieces.collect()
}

/// Adds the parts that a function's own rows give between two addresses.
fn unchanged(function: &Function, start: u64, end: u64, parts: &mut Vec<Part>) {
    let mut add = |from: u64, to: u64, row| {
        let (start, end) = (from.max(start), to.min(end));
        if start < end {
            parts.push(Part {
                start,
                end,
                row,
                signal: function.signal,
            });
        }
    };
    if function.rows.is_empty() {
        add(function.start, function.end(), None);
    }
    for (index, row) in function.rows.iter().enumerate() {
        let from = function.start + u64::from(row.offset);
        let to = function.rows.get(index + 1).map_or(function.end(), |next| {
            function.start + u64::from(next.offset)
        });
        add(from, to, Some(*row));
    }
}

/// Joins adjacent parts into functions. Parts without a row become functions without rows.
pub(crate) fn pieces(parts: &[Part]) -> Vec<Function> {
    let mut pieces: Vec<Function> = Vec::new();
    for part in parts {
        let size = (part.end - part.start) as u32;
        let continues = pieces.last_mut().filter(|piece| {
            let is_alike = piece.rows.is_empty() == part.row.is_none();
            piece.end() == part.start && is_alike && piece.signal == part.signal
        });
        let Some(piece) = continues else {
            pieces.push(Function {
                start: part.start,
                size,
                rows: part
                    .row
                    .map(|row| Row { offset: 0, ..row })
                    .into_iter()
                    .collect(),
                signal: part.signal,
                key_b: false,
                continues: false,
                block: None,
            });
            continue;
        };
        let offset = piece.size;
        piece.size += size;
        if let (Some(row), Some(last)) = (part.row, piece.rows.last())
            && !says_the_same(last, &row)
        {
            piece.rows.push(Row { offset, ..row });
        }
    }
    pieces
}

/// Adds functions for code without call frame information, and the reasons where none could be made. `starts` and
/// `is_handler` tell whether a function, or an interrupt handler, starts at an address; `is_padding`, whether there is only
/// padding between two addresses.
pub fn make(
    frames: &mut Frames,
    spans: &[Span],
    starts: impl Fn(u64) -> bool,
    is_handler: impl Fn(u64) -> bool,
    is_padding: impl Fn(u64, u64) -> bool,
) -> Made {
    let mut made = Made::default();
    let mut parts: Vec<Part> = Vec::new();
    let mut flush = |parts: &mut Vec<Part>, frames: &mut Frames| {
        for piece in pieces(&std::mem::take(parts)) {
            made.functions += 1;
            made.rows += piece.rows.len();
            made.starts.insert(piece.start);
            let signal = is_handler(piece.start);
            frames.functions.push(Function { signal, ..piece });
        }
    };
    let mut left_out: Vec<LeftOut> = Vec::new();
    for span in spans {
        match &span.found {
            Found::Made(row) => {
                if let Some(last) = parts.last_mut() {
                    if starts(span.start) || !is_padding(last.end, span.start) {
                        flush(&mut parts, frames);
                    } else {
                        // Padding belongs to the function before it, as in compilers' FDEs.
                        last.end = span.start;
                    }
                }
                parts.push(Part {
                    start: span.start,
                    end: span.end,
                    row: Some(**row),
                    signal: false,
                });
            }
            Found::Missing(reason) => {
                flush(&mut parts, frames);
                let why = Construct::Unproven(*reason);
                match left_out.last_mut() {
                    Some(last) if last.start + last.size == span.start && last.why == why => {
                        last.size += span.end - span.start;
                    }
                    _ => left_out.push(LeftOut {
                        start: span.start,
                        size: span.end - span.start,
                        why,
                    }),
                }
            }
            _ => flush(&mut parts, frames),
        }
    }
    flush(&mut parts, frames);
    frames
        .left_out
        .retain(|left| !made.starts.contains(&left.start));
    frames.left_out.extend(left_out);
    frames.functions.sort_by_key(|function| function.start);
    frames.left_out.sort_by_key(|left| left.start);
    made
}

/// The functions that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Their start addresses.
    pub starts: BTreeSet<u64>,
    /// How many there are.
    pub functions: usize,
    /// How many rows they have.
    pub rows: usize,
}
