//! Encodes one function: its size, name, lines, and inlined functions.

use gimli::leb128::write::Leb128;

use super::Tables;
use crate::symbols::{Code, Frame, Function, Piece};

/// Kinds of information, each followed by its length and its bytes.
const END_OF_LIST: u32 = 0;
const LINE_TABLE: u32 = 1;
const INLINE_INFO: u32 = 2;

/// Operations of a line table.
const END_SEQUENCE: u8 = 0;
const SET_FILE: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const FIRST_SPECIAL: u8 = 4;
/// The frequent changes of the line, which one byte can encode together with an advance of the address.
const LINE_DELTAS: std::ops::RangeInclusive<i64> = -4..=10;

/// Adjacent instructions with the same stack of frames.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    start: u64,
    end: u64,
    frames: &'a [Frame],
}

/// Encodes a function's entry.
pub(super) fn encode(
    code: &Code,
    function: &Function,
    pieces: &[&Piece],
    tables: &mut Tables,
) -> Vec<u8> {
    let mut out = Vec::new();
    let size = u32::try_from(function.size).unwrap_or(u32::MAX);
    out.extend(size.to_le_bytes());
    let name = tables.texts.place(code.names.text(function.name));
    out.extend(name.to_le_bytes());
    let runs = runs(code, pieces);
    if runs.iter().any(|run| !run.frames.is_empty()) {
        let lines = line_table(code, function, &runs, tables);
        put(&mut out, LINE_TABLE, &lines);
    }
    if runs.iter().any(|run| run.frames.len() > 1) {
        let mut inlined = Vec::new();
        let whole = [(function.start, function.start + function.size)];
        let node = Node {
            name,
            file: 0,
            line: 0,
        };
        inline_info(
            code,
            &runs,
            0,
            node,
            &whole,
            function.start,
            &mut inlined,
            tables,
        );
        put(&mut out, INLINE_INFO, &inlined);
    }
    put(&mut out, END_OF_LIST, &[]);
    out
}

fn put(out: &mut Vec<u8>, kind: u32, bytes: &[u8]) {
    out.extend(kind.to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

fn runs<'a>(code: &'a Code, pieces: &[&Piece]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    let mut stack = None;
    for instruction in pieces.iter().flat_map(|piece| &piece.instructions) {
        let end = instruction.start + u64::from(instruction.length);
        match runs.last_mut() {
            Some(last) if stack == Some(instruction.stack) && last.end == instruction.start => {
                last.end = end;
            }
            _ => runs.push(Run {
                start: instruction.start,
                end,
                frames: &code.stacks[instruction.stack as usize],
            }),
        }
        stack = Some(instruction.stack);
    }
    runs
}

/// The line table, with the innermost line of each address.
fn line_table(code: &Code, function: &Function, runs: &[Run<'_>], tables: &mut Tables) -> Vec<u8> {
    let (least, most) = (*LINE_DELTAS.start(), *LINE_DELTAS.end());
    let range = most - least + 1;
    let line_of = |run: &Run<'_>| run.frames.last().map_or(0, |frame| i64::from(frame.line));
    let mut out = Vec::new();
    let first = runs.first().map_or(0, line_of);
    out.extend(Leb128::signed(least).bytes());
    out.extend(Leb128::signed(most).bytes());
    out.extend(Leb128::unsigned(first as u64).bytes());
    let (mut at, mut file, mut line) = (function.start, 1, first);
    let mut is_first = true;
    for run in runs {
        let new_file = run
            .frames
            .last()
            .map_or(0, |frame| tables.file(code, frame.file));
        let new_line = line_of(run);
        if !is_first && (new_file, new_line) == (file, line) {
            continue;
        }
        is_first = false;
        if new_file != file {
            out.push(SET_FILE);
            out.extend(Leb128::unsigned(u64::from(new_file)).bytes());
            file = new_file;
        }
        let advance = run.start - at;
        let delta = new_line - line;
        let special = (delta - least)
            .checked_add(
                i64::try_from(advance)
                    .unwrap_or(i64::MAX)
                    .saturating_mul(range),
            )
            .and_then(|code| u8::try_from(code + i64::from(FIRST_SPECIAL)).ok());
        match special.filter(|_| LINE_DELTAS.contains(&delta)) {
            Some(special) => out.push(special),
            None => {
                if delta != 0 {
                    out.push(ADVANCE_LINE);
                    out.extend(Leb128::signed(delta).bytes());
                }
                out.push(ADVANCE_PC);
                out.extend(Leb128::unsigned(advance).bytes());
            }
        }
        (at, line) = (run.start, new_line);
    }
    out.push(END_SEQUENCE);
    out
}

/// An inlined function, and the file and line of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    name: u32,
    file: u32,
    line: u32,
}

/// Writes a function and, recursively, those inlined into it. `runs` are those whose frame number `depth` is this function,
/// `ranges` its addresses, which are stored relative to `base`.
#[expect(clippy::too_many_arguments, reason = "one recursion with one caller")]
fn inline_info(
    code: &Code,
    runs: &[Run<'_>],
    depth: usize,
    node: Node,
    ranges: &[(u64, u64)],
    base: u64,
    out: &mut Vec<u8>,
    tables: &mut Tables,
) {
    let mut children: Vec<(Node, Vec<Run<'_>>)> = Vec::new();
    for run in runs {
        let (Some(caller), Some(callee)) = (run.frames.get(depth), run.frames.get(depth + 1))
        else {
            continue;
        };
        let child = Node {
            name: tables.texts.place(code.names.text(callee.name)),
            file: tables.file(code, caller.file),
            line: caller.line,
        };
        match children.iter_mut().find(|(known, _)| *known == child) {
            Some((_, runs)) => runs.push(*run),
            None => children.push((child, vec![*run])),
        }
    }
    out.extend(Leb128::unsigned(ranges.len() as u64).bytes());
    for (start, end) in ranges {
        out.extend(Leb128::unsigned(start - base).bytes());
        out.extend(Leb128::unsigned(end - start).bytes());
    }
    out.push(u8::from(!children.is_empty()));
    out.extend(node.name.to_le_bytes());
    out.extend(Leb128::unsigned(u64::from(node.file)).bytes());
    out.extend(Leb128::unsigned(u64::from(node.line)).bytes());
    if children.is_empty() {
        return;
    }
    let base = ranges.first().map_or(base, |(start, _)| *start);
    for (child, runs) in children {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for run in &runs {
            match ranges.last_mut() {
                Some((_, end)) if *end == run.start => *end = run.end,
                _ => ranges.push((run.start, run.end)),
            }
        }
        inline_info(code, &runs, depth + 1, child, &ranges, base, out, tables);
    }
    // An entry without ranges ends the children.
    out.extend(Leb128::unsigned(0).bytes());
}
