//! From instructions to rows: as few as say what a level promises.

use unwind::symbols::Precision;
use unwind::symbols::format::MAX_EDGES;

use super::Level;
use super::code::{Code, Piece, Traced};
use super::lines::Frame;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// All frames of a stack, by its index.
    Full(u32),
    /// The outermost frame of a stack.
    Outer(Frame),
    /// Nothing.
    Unknown,
}

/// Rows of one piece: each from where the one before ended to its end, which is an address.
pub(super) type Rows = Vec<(u64, What)>;

/// The rows of a piece at a level. What is not covered at its end is unknown.
pub(super) fn rows(code: &Code, piece: &Piece, level: Level) -> Rows {
    let mut rows = Rows::new();
    let outer = |stack: u32| match code.stacks[stack as usize].first() {
        Some(frame) if frame.line != 0 => What::Outer(*frame),
        _ => What::Unknown,
    };
    let promise = level.promise();
    // The row that is open, and where it starts.
    let mut open = What::Unknown;
    let mut from = piece.start;
    for run in piece.runs() {
        let (start, stack) = (run[0].start, run[0].stack);
        let all = match code.stacks[stack as usize].len() {
            0 => What::Unknown,
            // A reader has no room for more.
            1..=MAX_EDGES => What::Full(stack),
            _ => outer(stack),
        };
        let promised = match run.iter().any(Traced::is_in_traces) {
            true => promise.faults,
            false => promise.elsewhere,
        };
        let what = match promised {
            Precision::Exact => all,
            Precision::OuterOnly => outer(stack),
            _ => What::Unknown,
        };
        if what != open {
            if start > from {
                rows.push((start, open));
                from = start;
            }
            open = what;
        }
        if promise.calls != promise.faults && all == What::Full(stack) {
            for call in run.iter().filter(|instruction| instruction.is_call) {
                // A row of a call says the outermost line of all that comes before the call as well.
                from = call.start + u64::from(call.length);
                rows.push((from, all));
            }
        }
    }
    if open != What::Unknown && from < piece.end {
        rows.push((piece.end, open));
    }
    rows
}
