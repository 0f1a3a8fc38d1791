//! Compares what a reader answers for instructions with debug information.

use std::fmt;

use rustc_hash::FxHashSet;
use unwind::symbols::{Precision, SymbolTable, Text, format};

use super::blob::unit;
use super::code::{Code, Function, Piece, Traced};
use super::lines::Frame;
use super::printable;
use crate::parallel::in_parts;
use crate::progress::Step;

/// An answer that differs from debug information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The address that was looked up.
    pub address: u64,
    /// The table's answer.
    pub found: String,
    /// The expected answer.
    pub expected: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            found,
            expected,
        } = self;
        write!(
            f,
            "{address:#x}: .symbols contains {found}, expected {expected}"
        )
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Answers that were compared.
    pub answers: u64,
    /// Answers with all frames.
    pub exact: u64,
    /// Answers with the outermost line.
    pub outer: u64,
    /// Compared instructions that can fault.
    pub faults: u64,
    /// Compared instructions that can fault, and have all frames.
    pub exact_faults: u64,
    /// Answers that are wrong.
    pub differences: Vec<Difference>,
}

/// Which instructions are looked up: at the first byte, and calls also at the last one, where return addresses are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every instruction.
    Every,
    /// The first and the last of adjacent instructions with the same expected answer; where a call ends them, its last byte.
    /// At level `faults` also every instruction that can fault.
    ///
    /// A reader gives the same answer within a row, so this finds every wrong or missing row, and wrong ends of rows. It does
    /// not find an additional row within one. A link uses it on the rows that it has just made, because it takes half the time.
    Ends,
    /// As `Ends`, for about so many functions, evenly spread: for a table that was compared before, at another address, or that
    /// need not be compared as a whole.
    Sample(usize),
}

/// Compares a table with what it was made from.
#[must_use]
pub fn compare(table: &SymbolTable<'_>, code: &Code, coverage: Coverage) -> Comparison {
    let step = match coverage {
        Coverage::Every | Coverage::Ends => 1,
        Coverage::Sample(functions) => code.pieces.len() / functions.max(1) + 1,
    };
    let mut pieces: Vec<&Piece> = code.pieces.iter().step_by(step).collect();
    let step = Step::new("comparing names and lines", pieces.len());
    let parts = in_parts(
        &mut pieces,
        |piece| piece.end - piece.start,
        |pieces| compare_pieces(table, code, coverage, pieces, &step),
    );
    let mut comparison = Comparison::default();
    for part in parts {
        comparison.answers += part.answers;
        comparison.exact += part.exact;
        comparison.outer += part.outer;
        comparison.faults += part.faults;
        comparison.exact_faults += part.exact_faults;
        comparison.differences.extend(part.differences);
    }
    comparison
}

fn compare_pieces(
    table: &SymbolTable<'_>,
    code: &Code,
    coverage: Coverage,
    pieces: &[&Piece],
    step: &Step,
) -> Comparison {
    let mut comparison = Comparison::default();
    let promise = format::promise(table.level());
    let unit = 1 << unit(code);
    let mut known = EqualTexts::default();
    let (mut faults, mut exact_faults) = (0, 0);
    for piece in pieces {
        step.one_more();
        let function = &code.functions[piece.function];
        let mut ask = |address: u64, frames: Expected<'_>| {
            comparison.answers += 1;
            match frames {
                Expected::Exact(_) => comparison.exact += 1,
                Expected::Outer(_) => comparison.outer += 1,
                Expected::Name => {}
            }
            if !is_right(table, code, &mut known, function, address, frames) {
                comparison.differences.push(Difference {
                    address,
                    found: found(table, address),
                    expected: frames.text(code, function),
                });
            }
        };
        if piece.instructions.is_empty() {
            ask(piece.start, Expected::Name);
            ask(piece.end - 1, Expected::Name);
        }
        // The last instruction with the current expected answer, if it has not been looked up.
        let mut last: Option<(u64, Expected<'_>)> = None;
        let mut same: Option<Expected<'_>> = None;
        for run in piece.runs() {
            let frames = &code.stacks[run[0].stack as usize];
            let outer = match frames.first() {
                Some(frame) if frame.line != 0 => Expected::Outer(frame),
                _ => Expected::Name,
            };
            let all = match frames.len() {
                0 => Expected::Name,
                1..=format::MAX_EDGES => Expected::Exact(frames),
                _ => outer,
            };
            let is_too_deep = frames.len() > format::MAX_EDGES;
            let expected = |promised| match promised {
                Precision::Exact if is_too_deep && promise.elsewhere == Precision::NameOnly => {
                    Expected::Name
                }
                Precision::Exact => all,
                Precision::OuterOnly => outer,
                _ => Expected::Name,
            };
            // One row answers for all instructions of a run.
            let (anywhere, at_calls) = match run.iter().any(Traced::is_in_traces) {
                true => (expected(promise.faults), expected(promise.calls)),
                false => (expected(promise.elsewhere), expected(promise.elsewhere)),
            };
            for instruction in run {
                // The first and the last byte of a call of one unit have the same address.
                let at_start = match instruction.is_call && instruction.length == unit {
                    true => at_calls,
                    false => anywhere,
                };
                if instruction.can_fault {
                    faults += 1;
                    exact_faults += u64::from(matches!(at_start, Expected::Exact(_)));
                }
                let is_promised = promise.faults != promise.elsewhere;
                let must = coverage == Coverage::Every || instruction.can_fault && is_promised;
                let is_same = same == Some(at_start);
                if is_same && !must {
                    last = Some((instruction.start, at_start));
                } else {
                    // Instructions between two with the same answer are skipped.
                    if let Some((address, frames)) = last.take().filter(|_| !is_same) {
                        ask(address, frames);
                    }
                    ask(instruction.start, at_start);
                    same = Some(at_start);
                }
                if instruction.is_call {
                    // The row of a call ends with it, so the next instruction has another row.
                    (last, same) = (None, None);
                    ask(
                        instruction.start + u64::from(instruction.length) - 1,
                        at_calls,
                    );
                }
            }
        }
        if let Some((address, frames)) = last {
            ask(address, frames);
        }
    }
    comparison.faults = faults;
    comparison.exact_faults = exact_faults;
    comparison
}

/// A cache of comparisons of texts that were equal, by the addresses of both. Most texts repeat, and expanding them takes
/// half of the time.
#[derive(Default)]
struct EqualTexts(FxHashSet<(usize, usize, usize)>);

impl EqualTexts {
    fn is_equal(&mut self, found: Text<'_>, expected: &str) -> bool {
        let compressed = found.compressed();
        let expected_at = expected.as_ptr().addr();
        let key = (compressed.as_ptr().addr(), compressed.len(), expected_at);
        if self.0.contains(&key) {
            return true;
        }
        let is_same = found == *expected;
        if is_same {
            self.0.insert(key);
        }
        is_same
    }
}

/// The expected answer.
#[derive(Clone, Copy, PartialEq)]
enum Expected<'a> {
    Exact(&'a [Frame]),
    Outer(&'a Frame),
    Name,
}

impl Expected<'_> {
    fn text(self, code: &Code, function: &Function) -> String {
        let name = code.names.text(function.name);
        let frame = |frame: &Frame| {
            let name = code.names.text(frame.name);
            match frame.line {
                0 => name.to_owned(),
                line => format!("{name} at {}:{line}", code.files.text(frame.file)),
            }
        };
        match self {
            Self::Exact(frames) => {
                let frames: Vec<String> = frames.iter().rev().map(frame).collect();
                format!("{} (Exact)", frames.join(", in "))
            }
            Self::Outer(outer) => format!("{} (OuterOnly)", frame(outer)),
            Self::Name => format!("{name} (NameOnly)"),
        }
    }
}

fn found(table: &SymbolTable<'_>, address: u64) -> String {
    let Some(answer) = table.resolve(address) else {
        return "nothing".to_owned();
    };
    let frames: Vec<String> = answer
        .frames()
        .map(|frame| match frame.place() {
            Some((file, line)) => format!("{} at {file}:{line}", frame.name),
            None => frame.name.to_string(),
        })
        .collect();
    // Another program may have made the table.
    let frames = frames.join(", in ");
    format!("{} ({:?})", printable(&frames), answer.precision)
}

fn is_right(
    table: &SymbolTable<'_>,
    code: &Code,
    known: &mut EqualTexts,
    function: &Function,
    address: u64,
    expected: Expected<'_>,
) -> bool {
    let Some(answer) = table.resolve(address) else {
        return false;
    };
    if answer.start != function.start || answer.size != function.size {
        return false;
    }
    let own = Frame {
        name: function.name,
        file: 0,
        line: 0,
    };
    let (precision, frames) = match expected {
        Expected::Exact(frames) => (Precision::Exact, frames),
        Expected::Outer(frame) => (Precision::OuterOnly, std::slice::from_ref(frame)),
        Expected::Name => (Precision::NameOnly, std::slice::from_ref(&own)),
    };
    let mut found = answer.frames().rev();
    answer.precision == precision
        && frames.iter().all(|frame| {
            let Some(found) = found.next() else {
                return false;
            };
            let place = match found.place() {
                Some((file, line)) => {
                    line == frame.line
                        && line != 0
                        && known.is_equal(file, code.files.text(frame.file))
                }
                None => frame.line == 0,
            };
            place && known.is_equal(found.name, code.names.text(frame.name))
        })
        && found.next().is_none()
}
