//! Settles the rows of an image by the checker's verdicts: which rows are unproven, and which registers are lost.

use row_checker::check::Verdict;
use row_checker::row::Part;
use unwind::sframe::{Row, Rule};

use crate::architecture::Architecture;
use crate::cfi::Frames;
use crate::derived::derive;
use crate::function::{Function, says_the_same};
use crate::image::Image;
use crate::links::InterruptedLinks;
use crate::stack_pointers::LoadedStackPointers;
use crate::symbols::Symbols;
use crate::unproven::{Unproven, places};

/// What the checker says of an image's rows.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// The code whose rows are unproven.
    pub unproven: Unproven,
    /// Where trap code has the interrupted link register.
    pub links: InterruptedLinks,
    /// The stack pointers of code without a caller.
    pub stack_pointers: LoadedStackPointers,
}

/// Checks the rows of an image, replaces rows that are not accepted where others follow, and returns the unproven ranges. `described` contains
/// the extents of functions from call frame information.
///
/// If only the caller's frame pointer, or another register of the caller on 32-bit ARM, is unproven, and `has_lost`, marks the register as
/// lost in the row instead. Version 2 of the format cannot express a lost register.
///
/// Returns `None` if nothing can be proven: the checker does not support the architecture, or found no claims that hold.
#[must_use]
pub fn settle(
    image: &Image<'_>,
    described: &[Function],
    frames: &mut Frames,
    symbols: &Symbols,
    has_lost: bool,
) -> Option<Settled> {
    let mut verdicts = derive(image, described, frames, symbols, has_lost)?;
    let functions = &mut frames.functions;
    for function in functions.iter_mut().filter(|_| has_lost) {
        let places = places(&verdicts, function);
        forget(function, &mut verdicts[places], image.architecture);
    }
    Some(Settled {
        unproven: Unproven::of(functions, &verdicts),
        links: InterruptedLinks::of(functions, &verdicts),
        stack_pointers: LoadedStackPointers::of(functions, &verdicts),
    })
}

/// If only registers of the caller are unproven, marks them as lost in the row and removes them from the verdict.
fn forget(function: &mut Function, verdicts: &mut [Verdict], architecture: &Architecture) {
    let is_register = |part: &Part| matches!(part, Part::FramePointer | Part::Register(_));
    let forgets = |verdict: &Verdict| {
        let mut parts = verdict.unproven.iter();
        !verdict.unproven.is_empty() && parts.all(|(part, _)| is_register(part))
    };
    // A row of a repeated block applies to several addresses.
    if function.block.is_some() || !verdicts.iter().any(forgets) {
        return;
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut old = function.rows.iter().copied().peekable();
    let mut current: Option<Row> = None;
    let mut push = |row: Row| {
        if !rows.last().is_some_and(|last| says_the_same(last, &row)) {
            rows.push(row);
        }
    };
    for verdict in verdicts {
        let offset = (verdict.at - function.start) as u32;
        // A row can start at an address without a verdict.
        while let Some(row) = old.next_if(|row| row.offset <= offset) {
            if row.offset < offset {
                push(row);
            }
            current = Some(row);
        }
        let Some(row) = current else { continue };
        let mut row = Row { offset, ..row };
        if forgets(verdict) {
            for (part, _) in verdict.unproven.drain(..) {
                match part {
                    Part::Register(register) => row.kept.set(register.into(), Rule::Undefined),
                    _ => row.frame_pointer = architecture.lost_frame_pointer(),
                }
            }
        }
        push(row);
    }
    old.for_each(push);
    function.rows = rows;
}
