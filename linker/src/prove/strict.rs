//! Withdraws whatever is not decided, where there is another source of rows for such code.

use super::unit::{Found, Span};
use crate::function::Function;
use crate::reason::Reason;

/// The spans, with those rows of `functions` withdrawn that nothing proves: undecided ones, and those of code that no way leads to, unless there
/// is only padding. Both ascend.
pub(super) fn only_decided(
    spans: &[Span],
    functions: &[Function],
    is_padding: impl Fn(u64, u64) -> bool,
) -> Vec<Span> {
    let mut strict: Vec<Span> = Vec::with_capacity(spans.len());
    let gap = |strict: &mut Vec<Span>, start: u64, end: u64| {
        if start < end && !is_padding(start, end) {
            strict.push(Span {
                start,
                end,
                found: Found::Withdrawn(Reason::Unreached),
            });
        }
    };
    let mut rest = spans;
    for function in functions {
        let before = rest.partition_point(|span| span.end <= function.start);
        strict.extend(rest[..before].iter().cloned());
        rest = &rest[before..];
        // The last span may have gone on behind its function.
        let reached = strict.last().map_or(0, |span| span.end);
        let mut at = function.start.max(reached);
        while let Some((span, others)) = rest.split_first()
            && span.start < function.end()
        {
            gap(&mut strict, at, span.start);
            at = span.end;
            strict.push(span.clone());
            rest = others;
        }
        gap(&mut strict, at, function.end());
    }
    strict.extend(rest.iter().cloned());
    for span in &mut strict {
        if let Found::Undecided(reason) = span.found {
            span.found = Found::Withdrawn(reason);
        }
    }
    strict
}
