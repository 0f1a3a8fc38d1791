//! The one pass that is trusted: once through all code that entries lead to, with the claims as they are.

use unwind::sframe::{Base, Row, Rule};

use crate::architecture::{Architecture, Convention};
use crate::claims::{Claims, LoadedStackPointer};
use crate::derive::{Derived, derive, is_called};
use crate::graph::Constant;
use crate::instruction::Flow;
use crate::program::{Function, Program};
use crate::row::{self, Unproven};
use crate::state::State;
use crate::value::{Value, Why};

/// What the checker says of an instruction with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its address.
    pub at: u64,
    /// Bytes.
    pub length: u8,
    /// What of its row does not follow from the code, and why. None: the row is proven.
    pub unproven: Vec<(row::Part, Reason)>,
    /// It is padding or a constant that no way leads to.
    pub is_padding: bool,
    /// In trap code: where the interrupted link register is. Counted from the stack pointer, or the register itself.
    pub interrupted_link: Option<Rule>,
    /// In code without a caller: the stack pointer before the instruction, if the code has loaded a constant into it.
    pub stack_pointer: Option<LoadedStackPointer>,
}

/// Why something does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// The reason. `None`: the code gives a different value.
    pub why: Option<Why>,
    /// The address of the instruction that it comes from.
    pub at: u64,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.why.map_or(
            "the value that follows from the code differs from the value in the unwind row",
            Why::words,
        ))
    }
}

/// Judges every instruction that has a row: ascending. `None`: no claims were found that hold.
#[must_use]
pub fn check<'a>(
    program: &'a Program<'a>,
    architecture: &'a dyn Architecture,
) -> Option<Vec<Verdict>> {
    let claims = Claims::find(program, architecture)?;
    pass(&claims, |_, _, _| {})
}

/// Does the same as [`check`]. Also returns the rows that follow from the states of the same pass, for instructions whose row is unproven or
/// missing: ascending. Code without a row that only a symbol marks, and that nothing calls, gets no row.
#[must_use]
pub fn check_and_derive<'a>(
    program: &'a Program<'a>,
    architecture: &'a dyn Architecture,
) -> Option<(Vec<Verdict>, Vec<Derived>)> {
    let claims = Claims::find(program, architecture)?;
    let mut derived: Vec<(u32, Derived)> = Vec::new();
    let verdicts = pass(&claims, |number, state, verdict| {
        let is_accepted = |verdict: &Verdict| {
            let mut reasons = verdict.unproven.iter();
            reasons.all(|(_, reason)| reason.why == Some(Why::NotEntered))
        };
        if verdict.is_some_and(is_accepted) {
            return;
        }
        let node = claims.graph.node(number);
        let old = program.row(node.at).map(|(_, row)| row);
        // At a call, a row serves the frame of the caller, whose link register the callee has overwritten.
        let is_call = matches!(node.flow, Flow::Call | Flow::IndirectCall);
        let serves = |row: &Row| !is_call || row.return_address != Rule::Same;
        let found = derive(old, state, claims.convention);
        if let Some((row, is_trap_code)) = found.filter(|(row, _)| serves(row)) {
            let (at, length) = (node.at, node.length);
            derived.push((
                number,
                Derived {
                    at,
                    length,
                    row,
                    is_trap_code,
                },
            ));
        }
    })?;
    if derived
        .iter()
        .any(|(_, one)| program.function(one.at).is_none())
    {
        let is_called = is_called(&claims);
        derived.retain(|(number, one)| {
            program.function(one.at).is_some() || is_called[*number as usize]
        });
    }
    derived.sort_unstable_by_key(|(number, _)| *number);
    Some((
        verdicts,
        derived.into_iter().map(|(_, derived)| derived).collect(),
    ))
}

/// Goes once through all code that entries lead to, with the claims as they are. Calls `visit` with the state before each reached instruction, and the verdict.
/// `None`: the claims do not hold.
fn pass(
    claims: &Claims<'_>,
    mut visit: impl FnMut(u32, &State, Option<&Verdict>),
) -> Option<Vec<Verdict>> {
    let program = claims.program;
    let mut verdicts: Vec<Option<Verdict>> = vec![None; claims.graph.nodes.len()];
    let mut holds = claims.entries_hold();
    let assumed = claims.assumed();
    // A state that nothing brings any more says nothing: only what entries lead to is judged.
    let mut is_reached = vec![false; claims.graph.nodes.len()];
    let mut work: Vec<u32> = claims.entries.iter().map(|(number, _)| *number).collect();
    for head in &work {
        is_reached[*head as usize] = true;
    }
    while let Some(head) = work.pop() {
        let mut judge = |number: u32, state: &State| {
            let state = &*claims.during_call(number, state);
            let verdict = verdict(claims, number, state, assumed[number as usize]);
            visit(number, state, verdict.as_ref());
            verdicts[number as usize] = verdict;
        };
        let arrives = |to: u32, state: &State| {
            holds &= claims.is_implied(to, state);
            if !std::mem::replace(&mut is_reached[to as usize], true) {
                work.push(to);
            }
        };
        let pushed = claims.follow(head, arrives, &mut judge);
        holds &= pushed.is_none_or(|(from, to)| claims.pushed.get(&from) == Some(&to));
    }
    holds &= claims.breaks_hold() && claims.returns_hold() && claims.runs_hold();
    if !holds {
        return None;
    }
    let mut all: Vec<Verdict> = Vec::with_capacity(verdicts.len());
    for (number, verdict) in verdicts.into_iter().enumerate() {
        let node = claims.graph.node(number as u32);
        let unreached = || {
            let reason = Reason {
                why: Some(Why::NoWay),
                at: node.at,
            };
            Verdict {
                at: node.at,
                length: node.length,
                unproven: vec![(row::Part::Entry, reason)],
                is_padding: node.is_padding || node.constant != Constant::No,
                interrupted_link: None,
                stack_pointer: None,
            }
        };
        match verdict {
            Some(verdict) => all.push(verdict),
            None if program.row(node.at).is_some() => all.push(unreached()),
            None => {}
        }
    }
    Some(all)
}

/// The verdict on the row of an instruction. `is_assumed`: it holds only if the processor entered the function.
fn verdict(claims: &Claims<'_>, number: u32, state: &State, is_assumed: bool) -> Option<Verdict> {
    let node = claims.graph.node(number);
    let (function, row) = claims.program.row(node.at)?;
    let mut unproven: Vec<Unproven> = Vec::new();
    row::judge(
        row,
        function.is_trap_code,
        state,
        claims.convention,
        &mut unproven,
    );
    let mut reasons = Vec::new();
    // A walk reads the row at the last byte of a call.
    let end = node.at + u64::from(node.length);
    let is_other = |(other, inner): &(&Function<'_>, &Row)| {
        other.start == function.start && !std::ptr::eq(*inner, row)
    };
    let last = claims.program.row(end - 1).filter(is_other);
    let inside = last.map_or(end..end, |_| node.at + 1..end);
    let inside = inside.filter_map(|at| claims.program.row(at));
    for (_, inner) in inside.filter(is_other) {
        let mut wrong: Vec<Unproven> = Vec::new();
        row::judge(
            inner,
            function.is_trap_code,
            state,
            claims.convention,
            &mut wrong,
        );
        if !wrong.is_empty() {
            let (why, at) = (None, node.at);
            reasons.push((row::Part::Cfa, Reason { why, at }));
            break;
        }
    }
    let reason = |(part, cause): Unproven| {
        let why = cause.map(|cause| cause.why());
        let at = cause
            .and_then(|cause| claims.graph.nodes.get(cause.instruction() as usize))
            .map_or(node.at, |node| node.at);
        (part, Reason { why, at })
    };
    reasons.extend(unproven.into_iter().map(reason));
    if is_assumed {
        let (why, at) = (Some(Why::NotEntered), node.at);
        reasons.push((row::Part::Entry, Reason { why, at }));
    }
    Some(Verdict {
        at: node.at,
        length: node.length,
        unproven: reasons,
        is_padding: false,
        interrupted_link: interrupted_link(claims.convention, node.flow, state),
        stack_pointer: claims.loaded_stack_pointer(state),
    })
}

/// Where trap code has the link register of what it interrupted. A word of the stack is preferred: during a call, the register is the callee's.
fn interrupted_link(convention: &Convention, flow: Flow, state: &State) -> Option<Rule> {
    let link = convention.link.filter(|_| state.kind.is_trap())?;
    let right = Value::Entry(link);
    let top = match state.get(convention.stack_pointer) {
        Value::Cfa(top) => Some(top),
        _ => None,
    };
    let slot = state.slots.iter().rev().find(|slot| slot.1 == right);
    let offset = slot
        .zip(top)
        .map(|((at, _), top)| i64::from(*at) - i64::from(top));
    if let Some(offset @ 0..) = offset {
        let base = Base::StackPointer;
        return Some(Rule::Saved { base, offset });
    }
    let is_call = matches!(flow, Flow::Call | Flow::IndirectCall);
    (!is_call && state.get(link) == right).then_some(Rule::Value {
        base: Base::Register(link.into()),
        offset: 0,
    })
}
