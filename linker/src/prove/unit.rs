//! What following one function says about each of its instructions.

use std::ops::Range;

use unwind::sframe::Row;

use super::follow::{Follow, Point};
use super::isa::Isa;
use super::judge::{Caller, Judge, Judgement};
use super::outcome::{Entry, Outcome};
use super::reason::Reason;
use super::text::Text;
use super::world::{World, row_of};
use crate::architecture::Architecture;
use crate::function::Function;

/// What was found out about some instructions, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Address of the first one.
    pub start: u64,
    /// Address after the last one.
    pub end: u64,
    /// What was found out.
    pub found: Found,
}

/// What was found out about an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its row is right.
    Agrees,
    /// Its row is wrong, and this one is right; their offsets are 0.
    Mended(Box<Row>),
    /// Its row is wrong, and which one is right is not known.
    Withdrawn(Reason),
    /// Whether its row is right is not known.
    Undecided(Reason),
    /// It has no row, and this one is right; its offset is 0.
    Made(Box<Row>),
    /// It has no row, and which one is right is not known.
    Missing(Reason),
}

impl Found {
    /// What is true of an instruction that belongs to several functions.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            // Nothing leads there from the one; the other says more.
            (Self::Undecided(Reason::Unreached | Reason::AfterCall(_)), known)
            | (known, Self::Undecided(Reason::Unreached | Reason::AfterCall(_))) => known,
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
    /// How it was entered.
    pub entry: Entry,
    /// Its instructions: ascending, of itself and of the pieces that only it jumps to.
    pub spans: Vec<Span>,
    /// What else was found out.
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
    ) -> Self {
        let follow = Follow::function(isa, architecture, text, world, start, entry);
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
        let outcome = follow.outcome();
        let mut spans = spans.spans;
        if let Some(problem) = outcome.problem {
            for span in &mut spans {
                span.found = match span.found {
                    Found::Made(_) | Found::Missing(_) => Found::Missing(problem),
                    _ => Found::Undecided(problem),
                };
            }
        }
        Self {
            entry,
            spans,
            outcome,
        }
    }
}

struct Spans<'a, I> {
    judge: Judge<'a, I>,
    world: &'a World,
    /// What call frame information has for the code that was asked for last.
    function: Option<&'a Function>,
    /// Where the function starts and ends that it belongs to, if that is known.
    extent: Range<u64>,
    /// The row that was found last, where there is none or a wrong one: as long as it holds there is no other.
    last: Option<Row>,
    spans: Vec<Span>,
}

impl<I: Isa> Spans<'_, I> {
    fn find(&mut self, point: &Point<'_>, caller: &Caller) -> Found {
        if !self.extent.contains(&point.at) {
            self.function = self.world.function_at(point.at);
            // Several functions may share what lies elsewhere: they have to choose the same one of several right rows.
            if let Some((start, end)) = self.world.extent(point.at) {
                self.extent = start..end;
                self.last = None;
            }
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
                (false, Some(_)) => Found::Undecided(Reason::AfterCall(point.at)),
                (false, None) => Found::Missing(Reason::AfterCall(point.at)),
            };
        }
        let Some(row) = row else {
            return match self.known(point, caller) {
                Ok(row) => Found::Made(Box::new(row)),
                Err(reason) => Found::Missing(reason),
            };
        };
        match self.judge_at(&row, point, caller) {
            Judgement::Agrees => Found::Agrees,
            Judgement::Undecided(reason) => Found::Undecided(reason),
            Judgement::Contradicts => match self.known(point, caller) {
                Ok(row) => Found::Mended(Box::new(row)),
                Err(reason) => Found::Withdrawn(reason),
            },
        }
    }

    /// The row that is right at a point: the last one, as long as it is.
    fn known(&mut self, point: &Point<'_>, caller: &Caller) -> Result<Row, Reason> {
        let during_call = point.during_call;
        let row = during_call.and_then(|machine| self.judge.row(machine, caller).ok());
        let row = match row {
            Some(row) => row,
            None => self.judge.row(point.machine, caller)?,
        };
        // As long as the last one holds, there is no other.
        if let Some(last) = self.last
            && last.frame_pointer == row.frame_pointer
            && self.judge_at(&last, point, caller) == Judgement::Agrees
        {
            return Ok(last);
        }
        self.last = Some(row);
        Ok(row)
    }

    /// Judges a row at a point. That of a call is asked for while the callee runs as well, which has changed what it may; if
    /// anything leads to the caller then.
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
