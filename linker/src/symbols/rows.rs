//! Makes the fewest rows that hold what a level promises for each instruction.

use unwind::symbols::Precision;
use unwind::symbols::format::MAX_EDGES;

use super::Level;
use super::code::{Code, Piece, Traced};
use super::lines::Frame;

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// All frames of a stack, by its index.
    Full(u32),
    /// The outermost frame of a stack.
    Outer(Frame),
    /// Nothing.
    Unknown,
}

/// Rows of one piece: the end of each, as an address, and what it holds. It starts at the end of the one before.
pub(super) type Rows = Vec<(u64, RowKind)>;

/// The rows of a piece at a level. Code after the last row is unknown.
pub(super) fn rows(code: &Code, piece: &Piece, level: Level) -> Rows {
    let mut rows = Rows::new();
    let outer = |stack: u32| match code.stacks[stack as usize].first() {
        Some(frame) if frame.line != 0 => RowKind::Outer(*frame),
        _ => RowKind::Unknown,
    };
    let promise = level.promise();
    // The current row, and its start.
    let mut open = RowKind::Unknown;
    let mut from = piece.start;
    for run in piece.runs() {
        let (start, stack) = (run[0].start, run[0].stack);
        let all = match code.stacks[stack as usize].len() {
            0 => RowKind::Unknown,
            // Readers support no deeper stacks.
            1..=MAX_EDGES => RowKind::Full(stack),
            _ => outer(stack),
        };
        let promised = match run.iter().any(Traced::is_in_traces) {
            true => promise.faults,
            false => promise.elsewhere,
        };
        let what = match promised {
            Precision::Exact => all,
            Precision::OuterOnly => outer(stack),
            _ => RowKind::Unknown,
        };
        if what != open {
            if start > from {
                rows.push((start, open));
                from = start;
            }
            open = what;
        }
        if promise.calls != promise.faults && all == RowKind::Full(stack) {
            for call in run.iter().filter(|instruction| instruction.is_call) {
                // The row of a call also covers the instructions before it: it has their outermost line, too.
                from = call.start + u64::from(call.length);
                rows.push((from, all));
            }
        }
    }
    if open != RowKind::Unknown && from < piece.end {
        rows.push((piece.end, open));
    }
    rows
}
