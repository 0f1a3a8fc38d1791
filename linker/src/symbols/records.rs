//! Records: functions of the source, and the inlining edges between them.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::code::Code;
use super::lines::Frame;
use super::rows::{RowKind, Rows};

/// A function of the source in one file: numbers of name and file. A function with code from several files has several keys.
pub(super) type Key = (u32, u32);

/// An inlined call: the caller is the record that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Edge {
    /// The call's line, 0 if unknown; `None`: the callee is the caller in another file.
    pub(super) line: Option<u32>,
    /// Index of the callee.
    pub(super) callee: usize,
}

/// A function of the source. Before [`Records::number`] gives them numbers in the blob, records have indices, in the order of
/// appearance.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) key: Key,
    /// The smallest line: lines are stored relative to it.
    pub(super) first_line: u32,
    /// Edges in the order of their numbers.
    pub(super) edges: Vec<Edge>,
    counts: FxHashMap<Edge, u32>,
    numbers: FxHashMap<Edge, u32>,
}

/// A stack of frames as a blob stores it: edges from the function to the innermost record, and the line there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// Caller's index, and the edge.
    pub(super) edges: Vec<(usize, Edge)>,
    /// Index of the innermost record.
    pub(super) innermost: usize,
    /// Line there; 0 if unknown.
    pub(super) line: u32,
}

/// All records.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) records: Vec<Record>,
    by_key: FxHashMap<Key, usize>,
    /// The file of most frames with a name, used for frames without a file.
    usual_files: FxHashMap<u32, u32>,
    /// The record's index by its number in the blob.
    pub(super) order: Vec<usize>,
    /// The record's number in the blob by its index.
    pub(super) numbers: Vec<u32>,
}

impl Records {
    pub(super) fn new(code: &Code) -> Self {
        let mut files: FxHashMap<Key, u32> = FxHashMap::default();
        for frame in code.stacks.iter().flatten().filter(|frame| frame.line != 0) {
            *files.entry((frame.name, frame.file)).or_default() += 1;
        }
        let mut files: Vec<(Key, u32)> = files.into_iter().collect();
        files.sort_by_key(|((name, file), count)| (*name, *count, Reverse(*file)));
        Self {
            usual_files: files.into_iter().map(|(key, _)| key).collect(),
            ..Self::default()
        }
    }

    /// The index of a record.
    pub(super) fn index(&mut self, key: Key) -> usize {
        let next = self.records.len();
        *self.by_key.entry(key).or_insert_with(|| {
            self.records.push(Record {
                key,
                first_line: u32::MAX,
                edges: Vec::new(),
                counts: FxHashMap::default(),
                numbers: FxHashMap::default(),
            });
            next
        })
    }

    /// The path of a stack, or of its outermost frame, in the function with the record `own`.
    pub(super) fn path(&mut self, own: usize, frames: &[Frame]) -> Path {
        let mut path = Path {
            innermost: own,
            ..Path::default()
        };
        for (depth, frame) in frames.iter().enumerate() {
            let record = match (depth, frame.line) {
                // A frame without a line is in the function's own record.
                (0, 0) => own,
                (_, 0) => {
                    let file = self.usual_files.get(&frame.name).copied();
                    self.index((frame.name, file.unwrap_or(0)))
                }
                _ => self.index((frame.name, frame.file)),
            };
            let line = depth.checked_sub(1).map(|caller| frames[caller].line);
            if depth > 0 || record != own {
                let edge = Edge {
                    line,
                    callee: record,
                };
                path.edges.push((path.innermost, edge));
            }
            path.innermost = record;
            path.line = frame.line;
        }
        path
    }

    /// Counts a use of the edges of a path after the first `kept`, and updates `first_line` of their callers.
    pub(super) fn count(&mut self, path: &Path, kept: usize) {
        for (caller, edge) in &path.edges[kept..] {
            let caller = &mut self.records[*caller];
            *caller.counts.entry(*edge).or_default() += 1;
            if let Some(line) = edge.line.filter(|line| *line != 0) {
                caller.first_line = caller.first_line.min(line);
            }
        }
        if path.line != 0 {
            let innermost = &mut self.records[path.innermost];
            innermost.first_line = innermost.first_line.min(path.line);
        }
    }

    /// Numbers edges and records, most used first; then functions in the order in which they lie in memory.
    pub(super) fn number(&mut self, functions: impl Iterator<Item = usize>) {
        let mut uses = vec![0_u32; self.records.len()];
        for record in &self.records {
            for edge in record.counts.keys() {
                uses[edge.callee] += 1;
            }
        }
        let mut order: Vec<usize> = (0..uses.len()).filter(|index| uses[*index] > 0).collect();
        order.sort_by_key(|index| (Reverse(uses[*index]), *index));
        let mut known: Vec<bool> = uses.iter().map(|uses| *uses > 0).collect();
        for index in functions {
            if !std::mem::replace(&mut known[index], true) {
                order.push(index);
            }
        }
        self.numbers = vec![u32::MAX; self.records.len()];
        for (number, index) in order.iter().enumerate() {
            self.numbers[*index] = number as u32;
        }
        self.order = order;
        for record in &mut self.records {
            let mut edges: Vec<(Edge, u32)> = record.counts.drain().collect();
            edges.sort_by_key(|(edge, count)| (Reverse(*count), *edge));
            record.edges = edges.into_iter().map(|(edge, _)| edge).collect();
            let numbers = record.edges.iter().zip(0..);
            record.numbers = numbers.map(|(edge, number)| (*edge, number)).collect();
        }
    }

    /// The number of an edge in its caller.
    pub(super) fn edge_number(&self, (caller, edge): &(usize, Edge)) -> u32 {
        self.records[*caller].numbers[edge]
    }
}

/// The record of a function that is not inlined: its name, and the file of most of its rows.
pub(super) fn own_key(code: &Code, name: u32, rows: &[&Rows]) -> Key {
    let mut files: FxHashMap<u32, u32> = FxHashMap::default();
    for (_, what) in rows.iter().copied().flatten() {
        let outermost = match what {
            RowKind::Full(stack) => code.stacks[*stack as usize].first(),
            RowKind::Outer(frame) => Some(frame),
            RowKind::Unknown => None,
        };
        if let Some(frame) = outermost.filter(|frame| frame.line != 0) {
            *files.entry(frame.file).or_default() += 1;
        }
    }
    let most = files
        .into_iter()
        .max_by_key(|(file, count)| (*count, Reverse(*file)));
    (name, most.map_or(0, |(file, _)| file))
}
