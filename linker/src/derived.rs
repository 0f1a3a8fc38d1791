//! Replaces rows that the checker does not accept with rows that follow from its states, and adds such rows to code without rows.

use row_checker::check::Verdict;
use row_checker::derive::Derived;
use rustc_hash::FxHashSet;
use unwind::sframe::{Base, Row, Rule};

use crate::cfi::Frames;
use crate::checked;
use crate::function::{Function, says_the_same};
use crate::image::Image;
use crate::prove::repair::{Part, pieces, with};
use crate::prove::world::row_of;
use crate::symbols::Symbols;

/// Checks the rows of an image, replaces rows that are not accepted, and returns the verdicts for the rows after that. `described` contains the
/// extents of functions from call frame information. If not `has_lost`, the format of the table cannot express that a register is lost.
///
/// Returns `None` if nothing can be proven: the checker does not support the architecture, or found no claims that hold.
#[must_use]
pub fn derive(
    image: &Image<'_>,
    described: &[Function],
    frames: &mut Frames,
    symbols: &Symbols,
    has_lost: bool,
) -> Option<Vec<Verdict>> {
    let (mut verdicts, mut derived) =
        checked::check_and_derive(image, described, &frames.functions)?;
    let functions = &frames.functions;
    let can_change = |at: u64| {
        let function = function_at(functions, at);
        function.is_none_or(|function| {
            let row = row_of(function, at);
            function.block.is_none() && !row.is_some_and(|row| row.is_outermost())
        })
    };
    derived.retain(|one| can_change(one.at) && (has_lost || is_simple(&one.row, image)));
    if derived.is_empty() {
        return Some(verdicts);
    }
    let starts = symbols.0.iter().map(|symbol| symbol.start);
    let starts = starts.chain(described.iter().map(|function| function.start));
    let changes = changes(&derived);
    // Of instructions that overlap, the row of one is written.
    let written: FxHashSet<u64> = changes.iter().map(|part| part.start).collect();
    derived.retain(|one| written.contains(&one.at));
    let after = replace(functions, changes, &starts.collect());
    match facts(&after).eq(facts(functions)) {
        // The checker's claims are the same, and each derived row follows from the state that they bring.
        true => accept(&mut verdicts, &derived),
        false => verdicts = checked::check(image, described, &after)?,
    }
    frames.functions = after;
    let ranges = derived
        .iter()
        .map(|one| one.at..one.at + u64::from(one.length));
    frames.have_rows(&ranges.collect::<Vec<_>>());
    Some(verdicts)
}

/// Whether version 2 of the format can express a row.
fn is_simple(row: &Row, image: &Image<'_>) -> bool {
    let is_saved = |rule| {
        matches!(
            rule,
            Rule::Saved {
                base: Base::Cfa,
                ..
            }
        )
    };
    let default = image.architecture.default_return_address();
    let tracks = image.architecture.fixed_return_address.is_none();
    let pointers = [Base::StackPointer, Base::FramePointer];
    matches!(row.cfa, Rule::Value { base, .. } if pointers.contains(&base))
        && (row.return_address == default || tracks && is_saved(row.return_address))
        && (row.frame_pointer == Rule::Same || is_saved(row.frame_pointer))
}

/// The parts of the code with other rows, ascending.
fn changes(derived: &[Derived]) -> Vec<Part> {
    let parts = derived.iter().map(|one| Part {
        start: one.at,
        end: one.at + u64::from(one.length),
        row: Some(one.row),
        signal: one.is_trap_code,
    });
    let mut all: Vec<Part> = parts.collect();
    all.sort_by_key(|part| part.start);
    // Instructions can overlap.
    let mut end = 0;
    all.retain(|part| {
        let is_behind = part.start >= end;
        if is_behind {
            end = part.end;
        }
        is_behind
    });
    all
}

/// The functions with these parts changed or added. A function starts at each of `starts`.
fn replace(functions: &[Function], changes: Vec<Part>, starts: &FxHashSet<u64>) -> Vec<Function> {
    let mut all: Vec<Function> = Vec::with_capacity(functions.len());
    let mut changes = changes.into_iter().peekable();
    for function in functions {
        let mut gap: Vec<Part> = Vec::new();
        while let Some(part) = changes.next_if(|part| part.start < function.start) {
            let end = part.end.min(function.start);
            gap.push(Part { end, ..part });
        }
        let is_added = !gap.is_empty();
        add(&mut all, gap, starts);
        let mut own: Vec<Part> = Vec::new();
        while let Some(part) = changes.next_if(|part| part.start < function.end()) {
            own.push(part);
        }
        let mut own = match own.is_empty() {
            true => vec![function.clone()],
            false => with(function, own.into_iter()),
        }
        .into_iter();
        match (is_added, own.next()) {
            (true, Some(first)) => join(&mut all, first, starts),
            (false, Some(first)) => all.push(first),
            (_, None) => {}
        }
        all.extend(own);
    }
    add(&mut all, changes.collect(), starts);
    all
}

/// Adds functions for code without rows.
fn add(all: &mut Vec<Function>, mut gap: Vec<Part>, starts: &FxHashSet<u64>) {
    while !gap.is_empty() {
        let is_start = |part: &Part| starts.contains(&part.start);
        let next = gap.iter().skip(1).position(is_start);
        let rest = gap.split_off(next.map_or(gap.len(), |next| next + 1));
        let found = pieces(&std::mem::replace(&mut gap, rest));
        found
            .into_iter()
            .for_each(|function| join(all, function, starts));
    }
}

/// Adds a function, as a part of the one before it if it continues that one.
fn join(all: &mut Vec<Function>, function: Function, starts: &FxHashSet<u64>) {
    let before = all
        .last_mut()
        .filter(|before| before.end() == function.start && !starts.contains(&function.start));
    let has_caller = |one: &Function| !one.rows.iter().any(Row::is_outermost);
    match before {
        Some(before)
            if before.signal == function.signal
                && before.key_b == function.key_b
                && before.rows.is_empty() == function.rows.is_empty()
                && before.block.or(function.block).is_none()
                && has_caller(before)
                && has_caller(&function) =>
        {
            for row in function.rows {
                let offset = before.size + row.offset;
                if !before
                    .rows
                    .last()
                    .is_some_and(|last| says_the_same(last, &row))
                {
                    before.rows.push(Row { offset, ..row });
                }
            }
            before.size += function.size;
        }
        before => {
            let continues = function.continues || before.is_some();
            all.push(Function {
                continues,
                ..function
            });
        }
    }
}

/// What the checker's claims depend on, apart from the code: where functions with rows are, and how these are entered.
fn facts(functions: &[Function]) -> impl Iterator<Item = (u64, u32, bool, Option<&Row>)> {
    functions.iter().map(|function| {
        let Function { start, size, .. } = *function;
        (start, size, function.signal, function.rows.first())
    })
}

/// Removes what is unproven from the verdicts for instructions with derived rows.
fn accept(verdicts: &mut [Verdict], derived: &[Derived]) {
    for one in derived {
        if let Ok(place) = verdicts.binary_search_by_key(&one.at, |verdict| verdict.at) {
            verdicts[place].unproven.clear();
        }
    }
}

fn function_at(functions: &[Function], address: u64) -> Option<&Function> {
    let after = functions.partition_point(|one| one.start <= address);
    let function = functions.get(after.checked_sub(1)?)?;
    (address < function.end()).then_some(function)
}
