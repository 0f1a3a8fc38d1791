//! Asks a reader about instructions, and compares the answers with debug information.

use std::fmt;

use rustc_hash::FxHashSet;
use unwind::symbols::{Precision, SymbolTable, Text, format};

use super::blob::unit;
use super::code::{Code, Function, Piece, Traced};
use super::lines::Frame;
use crate::parallel::in_parts;
use crate::progress::Step;

/// An answer that is not what debug information says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The address that was asked for.
    pub address: u64,
    /// What the table says.
    pub found: String,
    /// What it should say.
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
            "{address:#x}: .symbols says {found}, expected {expected}"
        )
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Answers that were compared.
    pub answers: u64,
    /// Of them, those that give all frames.
    pub exact: u64,
    /// Of them, those that give the outermost line.
    pub outer: u64,
    /// Instructions that can fault, of what was compared.
    pub faults: u64,
    /// Of them, those that have all frames.
    pub exact_faults: u64,
    /// Answers that are wrong.
    pub differences: Vec<Difference>,
}

/// Which instructions a reader is asked about: at the first byte, and of calls at the last one as well, which is where
/// return addresses are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Every instruction.
    Every,
    /// Of instructions that follow each other and should have the same answer, the first and the last one; where a call
    /// ends them, its last byte. At level `faults`, every instruction that can fault besides.
    ///
    /// A reader says the same from one row to the next, so this finds whatever is wrong with a row that should be there,
    /// its ends included. What it does not find is a row too many in the midst of others that should be one. A link,
    /// which has just made the rows, is content with that, as it takes half the time.
    Ends,
    /// The same, of about a thousand functions: for a table that was compared already, at another address.
    Sample,
}

/// How many functions [`Asked::Sample`] asks about, or some more.
const SAMPLE: usize = 1000;

/// Compares a table with what it was made from.
#[must_use]
pub fn compare(table: &SymbolTable<'_>, code: &Code, asked: Asked) -> Comparison {
    let step = match asked {
        Asked::Every | Asked::Ends => 1,
        Asked::Sample => code.pieces.len() / SAMPLE + 1,
    };
    let mut pieces: Vec<&Piece> = code.pieces.iter().step_by(step).collect();
    let step = Step::new("comparing names and lines", pieces.len());
    let parts = in_parts(
        &mut pieces,
        |piece| piece.end - piece.start,
        |pieces| compare_pieces(table, code, asked, pieces, &step),
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
    asked: Asked,
    pieces: &[&Piece],
    step: &Step,
) -> Comparison {
    let mut comparison = Comparison::default();
    let promise = format::promise(table.level());
    let unit = 1 << unit(code);
    let mut known = Known::default();
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
        // The last instruction of those that should have the same answer, when that was not asked for.
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
            // A row says the same of all that its instructions have in common.
            let (anywhere, at_calls) = match run.iter().any(Traced::is_in_traces) {
                true => (expected(promise.faults), expected(promise.calls)),
                false => (expected(promise.elsewhere), expected(promise.elsewhere)),
            };
            for instruction in run {
                // A call of one unit has one answer, for its first byte as for its last.
                let at_start = match instruction.is_call && instruction.length == unit {
                    true => at_calls,
                    false => anywhere,
                };
                if instruction.can_fault {
                    faults += 1;
                    exact_faults += u64::from(matches!(at_start, Expected::Exact(_)));
                }
                let is_promised = promise.faults != promise.elsewhere;
                let must = asked == Asked::Every || instruction.can_fault && is_promised;
                let is_same = same == Some(at_start);
                if is_same && !must {
                    last = Some((instruction.start, at_start));
                } else {
                    // One that lies between two others with the same answer need not be asked about.
                    if let Some((address, frames)) = last.take().filter(|_| !is_same) {
                        ask(address, frames);
                    }
                    ask(instruction.start, at_start);
                    same = Some(at_start);
                }
                if instruction.is_call {
                    // The row of a call ends with it; that it goes back to where the answer was another is known by now.
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

/// Texts of the table that were found to be what they should be, each by where both are in memory. Most of what is
/// asked for was asked for just before, and to expand it is half of the work.
#[derive(Default)]
struct Known(FxHashSet<(usize, usize, usize)>);

impl Known {
    fn is(&mut self, found: Text<'_>, expected: &str) -> bool {
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

/// What an answer should say.
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
    format!("{} ({:?})", frames.join(", in "), answer.precision)
}

fn is_right(
    table: &SymbolTable<'_>,
    code: &Code,
    known: &mut Known,
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
                    line == frame.line && line != 0 && known.is(file, code.files.text(frame.file))
                }
                None => frame.line == 0,
            };
            place && known.is(found.name, code.names.text(frame.name))
        })
        && found.next().is_none()
}
