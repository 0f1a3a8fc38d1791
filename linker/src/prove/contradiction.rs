//! Lists where call frame information contradicts the code, with the instructions.

use unwind::sframe::Row;

use super::isa::Isa;
use super::text::Text;
use super::unit::{Found, Span};
use super::world::row_of;
use crate::function::Function;
use crate::reason::Reason;

/// Adjacent instructions whose row is wrong in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Address of the first one.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// The row of call frame information.
    pub said: Row,
    /// The right row, or why it is not known.
    pub found: Result<Row, Reason>,
    /// The first instruction, disassembled.
    pub instruction: String,
    /// The instruction before it, whose effect the row does not describe.
    pub before: Option<String>,
}

/// The contradictions among `spans`; `described` has the rows that are wrong.
#[must_use]
pub fn contradictions<I: Isa>(
    isa: &I,
    text: &Text<'_>,
    spans: &[Span],
    described: &[Function],
) -> Vec<Contradiction> {
    let instruction = |at: u64| {
        let code = text.code_at(at)?;
        Some(isa.text(code, at))
    };
    let mut found = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        let right = match &span.found {
            Found::Mended(row) => Ok(**row),
            Found::Withdrawn(reason) => Err(*reason),
            _ => continue,
        };
        let after = described.partition_point(|one| one.start <= span.start);
        let function = after.checked_sub(1).map(|index| &described[index]);
        let Some(said) = function.and_then(|function| row_of(function, span.start)) else {
            continue;
        };
        let is_next = |before: &&Span| before.end == span.start;
        let before = index.checked_sub(1).map(|index| &spans[index]);
        found.push(Contradiction {
            start: span.start,
            end: span.end,
            said,
            found: right,
            instruction: instruction(span.start).unwrap_or_default(),
            before: before
                .filter(is_next)
                .and_then(|before| last_instruction(isa, text, before))
                .and_then(instruction),
        });
    }
    found
}

/// Address of the last instruction of a span.
fn last_instruction<I: Isa>(isa: &I, text: &Text<'_>, span: &Span) -> Option<u64> {
    let (mut at, mut last) = (span.start, None);
    while at < span.end {
        last = Some(at);
        at += u64::from(isa.length(text.code_at(at)?, at)?);
    }
    last
}
