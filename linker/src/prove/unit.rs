//! Follows one function, and compares the row of each of its instructions with the state found there.

use std::ops::Range;

use unwind::sframe::Row;

use super::block::Spare;
use super::follow::{Follow, Point};
use super::isa::Isa;
use super::judge::{Caller, Judge, Judgement};
use super::outcome::{Entry, Outcome};
use super::text::Text;
use super::world::{World, row_of};
use crate::architecture::Architecture;
use crate::function::Function;
use crate::reason::Reason;

/// Adjacent instructions with the same result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Address of the first one.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// The result.
    pub found: Found,
}

/// The result for an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its row is right.
    Agrees,
    /// Its row is wrong, and this one, with offset 0, is right.
    Mended(Box<Row>),
    /// Its row is wrong, and the right one is not known.
    Withdrawn(Reason),
    /// It is not known whether its row is right.
    Undecided(Reason),
    /// It has no row, and this one, with offset 0, is right.
    Made(Box<Row>),
    /// It has no row, and the right one is not known.
    Missing(Reason),
}

impl Found {
    /// The result for an instruction that two functions contain.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            // One function does not reach it: the other one's result holds.
            (Self::Undecided(Reason::Unreached | Reason::AfterCall), known)
            | (known, Self::Undecided(Reason::Unreached | Reason::AfterCall)) => known,
            (undecided @ (Self::Undecided(_) | Self::Missing(_)), _)
            | (_, undecided @ (Self::Undecided(_) | Self::Missing(_))) => undecided,
            (Self::Made(_), _) | (_, Self::Made(_)) => Self::Missing(Reason::Entered),
            (Self::Withdrawn(reason), _) | (_, Self::Withdrawn(reason)) => Self::Withdrawn(reason),
            _ => Self::Undecided(Reason::Entered),
        }
    }
}

/// A function that was followed.
#[derive(Debug)]
pub struct Unit {
    /// How it is entered.
    pub entry: Entry,
    /// Its instructions, with those of outlined parts that it jumps to; ascending.
    pub spans: Vec<Span>,
    /// Results about the function as a whole.
    pub outcome: Outcome,
}

impl Unit {
    /// Follows the function at an address.
    pub fn follow<I: Isa>(
        isa: &I,
        architecture: &'static Architecture,
        text: &Text<'_>,
        world: &World,
        start: u64,
        entry: Entry,
        spare: &Spare<I::Instruction>,
    ) -> Self {
        let follow = Follow::function(isa, architecture, text, world, start, entry, spare);
        let Some(follow) = follow else {
            let outcome = Outcome {
                problem: Some(Reason::Entered),
                ..Outcome::default()
            };
            return Self {
                entry,
                spans: Vec::new(),
                outcome,
            };
        };
        let caller = follow.caller;
        let mut spans = Spans {
            judge: Judge { isa, architecture },
            world,
            function: None,
            extent: 0..0,
            last: None,
            holds: None,
            spans: Vec::new(),
        };
        for (start, block) in follow.blocks() {
            match block.agrees {
                true => spans.add(start, block.end, Found::Agrees),
                false => follow.visit(start, block, |point| {
                    let found = spans.find(point, &caller);
                    spans.add(point.at, point.at + u64::from(point.length), found);
                }),
            }
        }
        let mut unit = Self {
            entry,
            spans: spans.spans,
            outcome: follow.outcome(),
        };
        if let Some(problem) = unit.outcome.problem {
            unit.void(problem);
        }
        unit
    }

    /// Makes all results void. If they are void already, the first reason stays.
    pub(super) fn void(&mut self, reason: Reason) {
        self.outcome.fail(reason);
        let problem = self.outcome.problem.unwrap_or(reason);
        for span in &mut self.spans {
            span.found = match span.found {
                Found::Made(_) | Found::Missing(_) => Found::Missing(problem),
                _ => Found::Undecided(problem),
            };
        }
    }
}

struct Spans<'a, I> {
    judge: Judge<'a, I>,
    world: &'a World,
    /// The function that call frame information has for the last instruction.
    function: Option<&'a Function>,
    /// The range of the function that contains the last instruction, if that is known.
    extent: Range<u64>,
    /// The row that was made last, used again as long as it holds.
    last: Option<Row>,
    /// The row that was made for the instruction before.
    holds: Option<Row>,
    spans: Vec<Span>,
}

impl<I: Isa> Spans<'_, I> {
    fn find(&mut self, point: &Point<'_>, caller: &Caller) -> Found {
        let mut before = self.holds.take();
        if !self.extent.contains(&point.at) {
            self.function = self.world.function_at(point.at);
            // Several functions may share code of another one. Starting there without a last row, they all choose the same of
            // several right rows.
            if let Some((start, end)) = self.world.extent(point.at) {
                self.extent = start..end;
                self.last = None;
                before = None;
            }
        } else if (self.function).is_none_or(|one| point.at < one.start || point.at >= one.end()) {
            // A symbol's code may have rows in some places only.
            self.function = self.world.function_at(point.at);
        }
        if self
            .function
            .is_some_and(|function| function.rows.is_empty())
        {
            return Found::Missing(Reason::NoRule);
        }
        let row = self
            .function
            .and_then(|function| row_of(function, point.at));
        if point.is_dead {
            let agrees =
                row.is_some_and(|row| self.judge_at(&row, point, caller) == Judgement::Agrees);
            return match (agrees, row) {
                (true, _) => Found::Agrees,
                (false, Some(_)) => Found::Undecided(Reason::AfterCall),
                (false, None) => Found::Missing(Reason::AfterCall),
            };
        }
        let Some(row) = row else {
            // Nothing that a row is made from has changed, so it would be the same.
            let same = before.filter(|_| {
                point.during_call.is_none() && point.machine.changed & self.judge.looked_at() == 0
            });
            let row = same.map_or_else(|| self.right_row(point, caller), Ok);
            self.holds = row.ok().filter(|_| point.during_call.is_none());
            return match row {
                Ok(row) => Found::Made(Box::new(row)),
                Err(reason) => Found::Missing(reason),
            };
        };
        match self.judge_at(&row, point, caller) {
            Judgement::Agrees => Found::Agrees,
            Judgement::Undecided(reason) => Found::Undecided(reason),
            Judgement::Contradicts => match self.right_row(point, caller) {
                Ok(row) => Found::Mended(Box::new(row)),
                Err(reason) => Found::Withdrawn(reason),
            },
        }
    }

    /// A row that is right at a point: the last one, if it still is.
    fn right_row(&mut self, point: &Point<'_>, caller: &Caller) -> Result<Row, Reason> {
        let during_call = point.during_call;
        let row = during_call.and_then(|machine| self.judge.row(machine, caller).ok());
        let row = match row {
            Some(row) => row,
            None => self.judge.row(point.machine, caller)?,
        };
        // Using the last row as long as it holds gives fewer rows.
        if let Some(last) = self.last
            && last.frame_pointer == row.frame_pointer
            && last.kept == row.kept
            && self.judge_at(&last, point, caller) == Judgement::Agrees
        {
            return Ok(last);
        }
        self.last = Some(row);
        Ok(row)
    }

    /// Judges a row at a point. The row of a call has to hold while the callee runs, too, which may have clobbered registers
    /// and memory; unless no row could lead to the caller then.
    fn judge_at(&self, row: &Row, point: &Point<'_>, caller: &Caller) -> Judgement {
        let before = self.judge.judge(row, point.machine, caller);
        let during_call = point
            .during_call
            .and_then(|machine| self.judge.judge_during_call(row, machine, caller));
        match during_call {
            Some(Judgement::Contradicts) => Judgement::Contradicts,
            Some(undecided @ Judgement::Undecided(_)) if before == Judgement::Agrees => undecided,
            _ => before,
        }
    }

    fn add(&mut self, start: u64, end: u64, found: Found) {
        match self.spans.last_mut() {
            Some(last) if last.end == start && last.found == found => last.end = end,
            _ => self.spans.push(Span { start, end, found }),
        }
    }
}
