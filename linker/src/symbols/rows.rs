//! From instructions to rows: as few as say what a level promises.

use super::Level;
use super::code::{Code, Piece};
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
    // The row that is open, and where it starts.
    let mut open = What::Unknown;
    let mut from = piece.start;
    for instruction in &piece.instructions {
        let what = match level {
            Level::Names | Level::CallSites => What::Unknown,
            Level::Lines | Level::Calls => outer(instruction.stack),
            Level::All if is_too_deep(code, instruction.stack) => outer(instruction.stack),
            Level::All if code.stacks[instruction.stack as usize].is_empty() => What::Unknown,
            Level::All => What::Full(instruction.stack),
        };
        if what != open {
            if instruction.start > from {
                rows.push((instruction.start, open));
                from = instruction.start;
            }
            open = what;
        }
        let known = !code.stacks[instruction.stack as usize].is_empty();
        if level.wants_calls()
            && instruction.is_call
            && known
            && !is_too_deep(code, instruction.stack)
        {
            // A row of a call says the outermost line of all that comes before the call as well.
            let end = instruction.start + u64::from(instruction.length);
            let what = What::Full(instruction.stack);
            rows.push((end, what));
            from = end;
        }
    }
    if open != What::Unknown && from < piece.end {
        rows.push((piece.end, open));
    }
    rows
}

/// Stacks that a reader has no room for.
fn is_too_deep(code: &Code, stack: u32) -> bool {
    code.stacks[stack as usize].len() > unwind::symbols::format::MAX_EDGES
}
