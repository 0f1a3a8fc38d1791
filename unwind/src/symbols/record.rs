//! Records: functions of the source, with name, file, and the functions inlined into them.

use crate::reads;
use crate::symbols::format::{LINE_REPLACES, LINE_UNKNOWN};
use crate::symbols::list::{List, number};

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
    /// Bytes behind the record in its list.
    behind: usize,
}

/// What an edge says: a line, and what is inlined there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Code of the line of the call.
    line: u32,
    /// Number of the callee's record.
    pub(super) callee: u32,
}

impl Edge {
    /// Reads an edge at its place: see [`Record::edge_place`].
    pub(super) fn at(list: &List<'_>, place: u32) -> Option<Self> {
        let (line, rest) = number(list.before_end(place)?)?;
        let (callee, _) = number(rest)?;
        Some(Self { line, callee })
    }

    /// The callee replaces the caller: it is the same function, in another file.
    pub(super) const fn replaces(self) -> bool {
        self.line == LINE_REPLACES
    }

    /// The line of the call, from this record; 0 is unknown.
    pub(super) const fn line(self, caller: &Record<'_>) -> u32 {
        caller.line(self.line.saturating_sub(LINE_UNKNOWN))
    }
}

impl<'a> Record<'a> {
    /// The record with this number.
    pub(super) fn get(list: &List<'a>, id: u32) -> Option<Self> {
        let (entry, behind) = list.find(id)?;
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
            behind,
        })
    }

    /// The line that the code of a row stands for; 0 is unknown.
    pub(super) const fn line(&self, code: u32) -> u32 {
        match code.checked_sub(1) {
            Some(distance) => self.first_line.saturating_add(distance),
            None => 0,
        }
    }

    /// The place of an edge by its number, in bytes from there to the end of all records. Each edge that is skipped costs a step.
    pub(super) fn edge_place(&self, index: u32, steps: &mut u32) -> Option<u32> {
        if index >= self.edge_count {
            return None;
        }
        *steps = steps.checked_sub(index)?;
        let rest = skip(self.rest, index)?;
        u32::try_from(rest.len().checked_add(self.behind)?).ok()
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
