//! Rows: which function, and which stack of inlined functions, code belongs to.

use crate::symbols::format::{
    MAX_EDGES, OP_CONTINUED, OP_FUNCTION, OP_OUTER, OP_OUTER_ELSEWHERE, SMALL_COUNT, SMALL_LENGTH,
};
use crate::symbols::phrases::Expansion;

/// What the row at the looked-up address tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Nothing: code without line information.
    None,
    /// The function is known, and the line in it, but not what is inlined.
    Outer,
    /// All frames.
    Full {
        /// The address is in the last unit of the row: that of a call, where rows are for calls.
        last: bool,
    },
}

/// The result of a look-up. Addresses are in units, from the start of the range.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The function's start.
    pub(super) start: u32,
    /// Its size.
    pub(super) size: u32,
    /// Number of its record.
    pub(super) record: u32,
    pub(super) row: Row,
    /// Code of the innermost line.
    pub(super) line: u32,
    pub(super) edge_count: usize,
}

/// Reads the rows of a chunk that starts at `chunk`, up to the one that contains `target`, and leaves its edges in
/// `edges`. `None` when no function contains it, or the chunk is damaged.
pub(super) fn find(
    ops: &mut Expansion<'_>,
    chunk: u32,
    target: u32,
    edges: &mut [u32; MAX_EDGES],
) -> Option<Place> {
    let mut place = Place {
        start: chunk,
        size: 0,
        record: 0,
        row: Row::None,
        line: 0,
        edge_count: 0,
    };
    // The next record, if functions are in the order of records.
    let mut expected = 0_u32;
    // The end of the function before, from which the next one counts.
    let mut limit = chunk;
    // The end of the row before.
    let mut at = chunk;
    while let Some(op) = ops.next() {
        if matches!(op, OP_FUNCTION | OP_CONTINUED) {
            let record = expected.wrapping_add_signed(zigzag(ops.number()?));
            let distance = ops.number()?;
            let size = ops.number()?;
            let (start, from) = if op == OP_FUNCTION {
                let start = limit.checked_add_signed(zigzag(distance))?;
                (start, start)
            } else {
                (limit.checked_sub(distance)?, limit)
            };
            if from > target {
                break;
            }
            limit = start.checked_add(size)?;
            at = from;
            expected = expected.max(record.wrapping_add(1));
            place.start = start;
            place.size = size;
            place.record = record;
            place.edge_count = 0;
            continue;
        }
        let (pops, pushes, length) = match op {
            OP_OUTER => (0, 0, ops.number()?),
            OP_OUTER_ELSEWHERE => (0, 1, ops.number()?),
            _ => {
                let counts = op / SMALL_LENGTH;
                let length = match op % SMALL_LENGTH {
                    6 => ops.number()?.checked_add(u32::from(SMALL_LENGTH))?,
                    less => u32::from(less).wrapping_add(1),
                };
                (count(counts / 6, ops)?, count(counts % 6, ops)?, length)
            }
        };
        let outer = op >= OP_OUTER;
        let kept = if outer {
            0
        } else {
            place.edge_count.checked_sub(pops)?
        };
        let edge_count = kept.checked_add(pushes)?;
        at = at.checked_add(length)?;
        let found = at > target;
        if outer && !found {
            // The stack stays as it was for the rows that follow.
            for _ in 0..pushes {
                ops.number()?;
            }
        } else {
            for edge in edges.get_mut(kept..edge_count)? {
                *edge = ops.number()?;
            }
            place.edge_count = edge_count;
        }
        let line = ops.number()?;
        if found {
            place.line = line;
            place.row = match (outer, line) {
                (true, 0) => Row::None,
                (true, _) => Row::Outer,
                _ => Row::Full {
                    last: at.checked_sub(1) == Some(target),
                },
            };
            break;
        }
    }
    let inside = target.checked_sub(place.start)? < place.size;
    if place.row == Row::None {
        place.edge_count = 0;
    }
    inside.then_some(place)
}

/// A count of an operation: 5 means that the rest of it follows.
fn count(small: u8, ops: &mut Expansion<'_>) -> Option<usize> {
    let more = match small {
        SMALL_COUNT => ops.number()?,
        _ => 0,
    };
    usize::from(small).checked_add(usize::try_from(more).ok()?)
}

/// A signed number: its bit 0 is the sign.
const fn zigzag(number: u32) -> i32 {
    (number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg()
}
