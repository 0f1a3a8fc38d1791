//! Records: functions of the source, with name, file, and the functions inlined into them.

use crate::reads;
use crate::symbols::format::{LINE_REPLACES, LINE_UNKNOWN};
use crate::symbols::list::number;

/// The record of a function of the source: the part of it that is in one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// The file's number plus 1; 0: not known.
    pub(super) file: u32,
    /// The line that others count from.
    first_line: u32,
    edge_count: u32,
    /// Edges, then the name.
    rest: &'a [u8],
}

/// What an edge says: a line, and what is inlined there.
pub(super) struct Edge {
    /// The callee replaces the caller: it is the same function, in another file.
    pub(super) replaces: bool,
    /// The line of the call; 0 is unknown.
    pub(super) line: u32,
    /// Number of the callee's record.
    pub(super) callee: u32,
}

impl<'a> Record<'a> {
    pub(super) fn parse(entry: &'a [u8]) -> Option<Self> {
        let (head, mut rest) = number(entry)?;
        let file = head >> 1;
        let mut first_line = 0;
        let mut edge_count = 0;
        if file != 0 {
            (first_line, rest) = number(rest)?;
        }
        if head & 1 != 0 {
            (edge_count, rest) = number(rest)?;
        }
        Some(Self {
            file,
            first_line,
            edge_count,
            rest,
        })
    }

    /// The line that the code of a row stands for; 0 is unknown.
    pub(super) const fn line(&self, code: u32) -> u32 {
        match code.checked_sub(1) {
            Some(distance) => self.first_line.saturating_add(distance),
            None => 0,
        }
    }

    /// An edge by its number. Each edge that is skipped costs a step.
    pub(super) fn edge(&self, index: u32, steps: &mut u32) -> Option<Edge> {
        if index >= self.edge_count {
            return None;
        }
        *steps = steps.checked_sub(index)?;
        let rest = skip(self.rest, index)?;
        let (line, rest) = number(rest)?;
        let (callee, _) = number(rest)?;
        Some(Edge {
            replaces: line == LINE_REPLACES,
            line: self.line(line.saturating_sub(LINE_UNKNOWN)),
            callee,
        })
    }

    /// The name, compressed.
    pub(super) fn name(&self, steps: &mut u32) -> Option<&'a [u8]> {
        *steps = steps.checked_sub(self.edge_count)?;
        skip(self.rest, self.edge_count)
    }
}

/// What comes after so many edges: two numbers each, so twice as many bytes that end a number.
fn skip(bytes: &[u8], edges: u32) -> Option<&[u8]> {
    let mut left = edges.checked_mul(2)?;
    let mut rest = bytes;
    // A number has at most five bytes.
    for _ in 0..left.saturating_mul(5) {
        if left == 0 {
            break;
        }
        let (&byte, after) = rest.split_first()?;
        reads::note();
        rest = after;
        left = left.wrapping_sub(u32::from(byte < 0x80));
    }
    (left == 0).then_some(rest)
}
