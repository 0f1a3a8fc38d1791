//! The results of all functions, made to those of the image: without those that are not trusted, and one for each instruction.

use rustc_hash::FxHashSet;

use super::outcome::Entry;
use super::rounds::Units;
use super::unit::{Found, Span};
use super::world::World;
use crate::function::Function;
use crate::reason::Reason;
use crate::symbols::Symbols;

/// Withdraws results about code that only a symbol marks as a function: if it is never called, nothing points to it, and it never returns as a
/// function does, it may be entered with any stack.
pub(super) fn leave_out_uncalled(units: &mut Units, world: &World, symbols: &Symbols) {
    let called: FxHashSet<u64> = units
        .values()
        .flat_map(|unit| {
            unit.outcome
                .calls
                .iter()
                .chain(&unit.outcome.tail_calls)
                .copied()
        })
        .collect();
    // Functions that compilers emit and that tables of pointers name are called as the calling convention requires.
    let is_compiled = |start: u64| {
        let is_rust = |name: &str| name.starts_with("_R") || name.starts_with("_ZN");
        let symbol = symbols.at(start);
        symbol.is_some_and(|symbol| is_rust(&symbol.name)) || world.pointed.contains(&start)
    };
    units.retain(|start, unit| {
        let is_described = world.function_at(*start).is_some();
        // A return from an interrupt shows how the code is entered as a return to a caller does.
        let returns = unit.outcome.has_return || unit.entry != Entry::Call;
        let returns = returns && unit.outcome.problem.is_none();
        !is_described
            || !world.assumed.contains(start)
            || called.contains(start)
            || is_compiled(*start)
            || returns
    });
    for (start, unit) in units.iter_mut() {
        let is_described = world.function_at(*start).is_some();
        let is_known = is_described
            || called.contains(start)
            || unit.outcome.has_return
            // It ends in a tail call, so the stack at its entry was that of a call.
            || !unit.outcome.tail_calls.is_empty()
            || is_compiled(*start)
            || unit.entry != Entry::Call;
        if is_known {
            continue;
        }
        for span in &mut unit.spans {
            span.found = Found::Missing(Reason::NotCalled);
        }
    }
}

/// Withdraws undecided rows of functions that have a wrong row: their call frame information is not trusted further.
pub(super) fn withdraw(spans: &mut [Span], functions: &[Function]) {
    for function in functions {
        let first = spans.partition_point(|span| span.end <= function.start);
        let after = spans.partition_point(|span| span.start < function.end());
        let Some(own) = spans.get_mut(first..after) else {
            continue;
        };
        let is_wrong = |span: &Span| matches!(span.found, Found::Mended(_) | Found::Withdrawn(_));
        if !own.iter().any(is_wrong) {
            continue;
        }
        for span in own {
            if let Found::Undecided(
                reason @ (Reason::StackPointer(_) | Reason::Depths(_) | Reason::ReturnAddress),
            ) = span.found
            {
                span.found = Found::Withdrawn(reason);
            }
        }
    }
}

/// The spans of all units, split where they overlap, so that each instruction is in one.
pub(super) fn merge(units: &Units) -> Vec<Span> {
    let mut all: Vec<Span> = units
        .values()
        .flat_map(|unit| unit.spans.iter().cloned())
        .collect();
    all.sort_by_key(|span| span.start);
    let mut merged: Vec<Span> = Vec::with_capacity(all.len());
    // Sorted by start; the rest of an overlapping span is put back here.
    let mut waiting = std::collections::VecDeque::from(all);
    while let Some(span) = waiting.pop_front() {
        let Some(last) = merged.last_mut() else {
            merged.push(span);
            continue;
        };
        if span.start >= last.end {
            merged.push(span);
            continue;
        }
        // Both contain the code from the start of this one to the first of the two ends.
        let (start, end) = (span.start, last.end.min(span.end));
        let both = last.found.clone().and(span.found.clone());
        let mut rest = Vec::new();
        if last.end > end {
            rest.push(Span {
                start: end,
                end: last.end,
                found: last.found.clone(),
            });
        }
        if span.end > end {
            rest.push(Span {
                start: end,
                end: span.end,
                found: span.found,
            });
        }
        last.end = start;
        if last.start == last.end {
            merged.pop();
        }
        merged.push(Span {
            start,
            end,
            found: both,
        });
        for piece in rest.into_iter().rev() {
            let at = waiting.partition_point(|other| other.start < piece.start);
            waiting.insert(at, piece);
        }
    }
    merged
}
