//! Encodes rows in chunks, each of which can be read without the others.

use unwind::symbols::format;

use super::records::{Path, Records};

/// Rows before compression, and where each chunk's code starts, in units from the start of its range.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    pub(super) starts: Vec<u32>,
    pub(super) rows: Vec<Vec<u8>>,
}

/// A row, in units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// The end, from the start of the range.
    pub(super) end: u32,
    pub(super) what: RowKind<'a>,
}

/// The kinds of rows: all frames, only the outermost one, or none.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowKind<'a> {
    Full(&'a Path),
    Outer(&'a Path),
    Unknown,
}

/// A function's piece of code, in units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Start of the function, from the start of the range.
    pub(super) function: u32,
    /// Size of the function.
    pub(super) size: u32,
    /// Number of its record.
    pub(super) record: u32,
    /// Start of the piece.
    pub(super) start: u32,
}

/// Writes chunks.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    chunks: Chunks,
    records: &'a Records,
    /// The largest size of a chunk in bytes, unless a single row is longer.
    size: usize,
    /// The reader's state, to which numbers are relative: the next record's number, and the end of the function before.
    expected: u32,
    limit: u32,
    /// The last chunk is empty.
    is_new: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(records: &'a Records, size: usize) -> Self {
        Self {
            chunks: Chunks::default(),
            records,
            size,
            expected: 0,
            limit: 0,
            is_new: false,
        }
    }

    pub(super) fn finish(self) -> Chunks {
        self.chunks
    }

    pub(super) fn chunk_count(&self) -> usize {
        self.chunks.starts.len()
    }

    /// Starts a chunk.
    pub(super) fn start_chunk(&mut self, start: u32) {
        self.chunks.starts.push(start);
        self.chunks.rows.push(Vec::with_capacity(self.size));
        self.expected = 0;
        self.limit = start;
        self.is_new = true;
    }

    fn out(&mut self) -> &mut Vec<u8> {
        self.chunks.rows.last_mut().expect("a chunk was started")
    }

    fn is_full(&mut self, more: usize) -> bool {
        !self.is_new && self.out().len() + more > self.size
    }

    /// Writes a piece of a function.
    pub(super) fn piece(&mut self, header: Header, rows: &[Row<'_>]) {
        let mut head = self.header(header, header.start);
        if self.is_full(head.len()) {
            self.start_chunk(header.start);
            head = self.header(header, header.start);
        }
        self.put_header(header, &head);
        let mut stack: &[(usize, super::records::Edge)] = &[];
        let mut at = header.start;
        // One buffer for all rows, of which there are many.
        let mut bytes = Vec::new();
        for row in rows {
            self.row(row, row.end - at, stack, &mut bytes);
            if self.is_full(bytes.len()) {
                self.start_chunk(at);
                let head = self.header(header, at);
                self.put_header(header, &head);
                stack = &[];
                self.row(row, row.end - at, stack, &mut bytes);
            }
            self.out().extend_from_slice(&bytes);
            if let RowKind::Full(path) = row.what {
                stack = &path.edges;
            }
            at = row.end;
        }
    }

    /// The operation that starts a function, or continues one at `at`.
    fn header(&self, header: Header, at: u32) -> Vec<u8> {
        let goes_on = header.function != at;
        let mut bytes = vec![if goes_on {
            format::OP_CONTINUED
        } else {
            format::OP_FUNCTION
        }];
        number(&mut bytes, zigzag(self.expected, header.record));
        let distance = if goes_on {
            assert_eq!(
                self.limit, at,
                "a row inside a function does not start where the previous row ended"
            );
            at - header.function
        } else {
            zigzag(self.limit, at)
        };
        number(&mut bytes, distance);
        number(&mut bytes, header.size);
        bytes
    }

    fn put_header(&mut self, header: Header, bytes: &[u8]) {
        self.out().extend(bytes);
        self.is_new = false;
        self.expected = self.expected.max(header.record + 1);
        self.limit = header.function + header.size;
    }

    /// Encodes a row that follows one with the edges `before`; overwrites `bytes`.
    fn row(
        &self,
        row: &Row<'_>,
        length: u32,
        before: &[(usize, super::records::Edge)],
        bytes: &mut Vec<u8>,
    ) {
        bytes.clear();
        let (path, new) = match row.what {
            RowKind::Unknown => {
                bytes.push(format::OP_OUTER);
                number(bytes, length);
                bytes.push(0);
                return;
            }
            RowKind::Outer(path) => {
                bytes.push(match path.edges.len() {
                    0 => format::OP_OUTER,
                    1 => format::OP_OUTER_ELSEWHERE,
                    _ => unreachable!(
                        "a row that stores only the outermost frame contains inlined frames"
                    ),
                });
                number(bytes, length);
                (path, &path.edges[..])
            }
            RowKind::Full(path) => {
                let kept = kept(before, &path.edges);
                let (pops, pushes) = (before.len() - kept, path.edges.len() - kept);
                let max = usize::from(format::SMALL_COUNT);
                let small_length = length.min(format::SMALL_LENGTH.into());
                // Pops, pushes and length in one byte; what exceeds its maximum follows.
                bytes.push(
                    (pops.min(max) * 6 * 7 + pushes.min(max) * 7) as u8 + small_length as u8 - 1,
                );
                if small_length == u32::from(format::SMALL_LENGTH) {
                    number(bytes, length - small_length);
                }
                for count in [pops, pushes] {
                    if let Some(more) = count.checked_sub(max) {
                        number(bytes, more as u32);
                    }
                }
                (path, &path.edges[kept..])
            }
        };
        for edge in new {
            number(bytes, self.records.edge_number(edge));
        }
        let line = match path.line {
            0 => 0,
            line => line - self.records.records[path.innermost].first_line + 1,
        };
        number(bytes, line);
    }
}

/// How many edges two stacks have in common, from the outermost on.
pub(super) fn kept<T: PartialEq>(before: &[T], after: &[T]) -> usize {
    let both = before.iter().zip(after);
    both.take_while(|(before, after)| before == after).count()
}

/// Appends a number as ULEB128.
pub(super) fn number(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The signed distance between two numbers, zigzag encoded: its sign in bit 0.
fn zigzag(from: u32, to: u32) -> u32 {
    let distance = to.wrapping_sub(from).cast_signed();
    ((distance << 1) ^ (distance >> 31)).cast_unsigned()
}
