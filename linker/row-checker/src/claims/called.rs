//! Entries that the ways to a place show.

use rustc_hash::FxHashSet;

use super::Claims;
use super::entered::Entered;
use crate::graph::{Edge, OUT};
use crate::instruction::{Effect, Flow};
use crate::state::{Kind, State};
use crate::value::{Cause, RETURN, Value, Why};

/// How many instructions of a function without a way out are looked at.
const STRAIGHT: usize = 12;

impl Claims<'_> {
    /// Enters declared functions that control only falls into: code that cannot be reached may run into the function behind it, and that
    /// tells nothing of who calls this.
    pub(super) fn enter_fallen(&mut self, entered: &Entered) {
        let mut is_target = vec![false; self.graph.nodes.len()];
        for number in 0..self.graph.nodes.len() as u32 {
            if self.is_reached[number as usize] {
                self.successors(number, |to, edge| {
                    let falls = matches!(
                        edge,
                        Edge::Next | Edge::Passed | Edge::AfterCall | Edge::Resumed | Edge::Behind
                    );
                    if to != OUT && !falls {
                        is_target[to as usize] = true;
                    }
                });
            }
        }
        let starts = self.program.declared.iter().map(|one| one.start);
        for start in starts {
            let Some(number) = self.graph.at(start).map(|number| number as usize) else {
                continue;
            };
            if self.is_reached[number]
                && !is_target[number]
                && !entered.leads_to_trap_return[number]
                && !self.program.is_inside(start)
            {
                self.enter(entered, start, false);
            }
        }
    }

    /// Whether a function without a way out shows that a return leads there, as to the first code of a task or from a signal: it takes what would
    /// be its return address for something else, or runs straight to a call of the system at its end.
    pub(super) fn is_returned_to(&self, mut number: u32) -> bool {
        if self.leads_out[number as usize] {
            return false;
        }
        let is_system_call = |effect: &Effect| matches!(effect, Effect::SystemCall(_));
        let calls_system = |number| self.graph.effects(number).iter().any(is_system_call);
        let mut state = State::called(self.convention);
        for _ in 0..STRAIGHT {
            let node = self.graph.node(number);
            match node.flow {
                Flow::Next if node.next != OUT && !node.is_conditional => {}
                _ => return self.graph.is_at_end[number as usize] && calls_system(number),
            }
            self.apply(number, &mut state);
            let is_popped = state.registers.contains(&Value::Entry(RETURN));
            if is_popped && self.convention.link.is_none() {
                return true;
            }
            number = node.next;
        }
        false
    }

    /// Whether code at `start`, which a call taken for a jump reaches, returns to the instruction `next` after the call, and does so only by
    /// returns that are followed.
    fn returns_are_followed(&self, start: u32, next: u32) -> bool {
        let mut is_seen = FxHashSet::default();
        let mut work = vec![start];
        let mut comes_back = false;
        while let Some(number) = work.pop() {
            if number == OUT {
                return false;
            }
            if number == next || !is_seen.insert(number) {
                continue;
            }
            let is_pushed = |edge: &(u32, Edge)| edge.1 == Edge::Pushed;
            let is_followed = self.graph.more(number).iter().any(is_pushed);
            let flow = self.graph.node(number).flow;
            let is_return = matches!(flow, Flow::Return | Flow::TrapReturn);
            if !is_followed && (is_return || self.jumps.open.contains(&number)) {
                return false;
            }
            comes_back |= self.graph.more(number).contains(&(next, Edge::Pushed));
            self.successors(number, |to, edge| {
                if edge != Edge::Pushed {
                    work.push(to);
                }
            });
        }
        comes_back
    }

    /// Enters the code behind calls that are taken for jumps, with an unknown state: the code comes back there, unless the return that leads
    /// there is known.
    pub(super) fn enter_behind_detours(&mut self) {
        for (call, next) in self.detours.clone() {
            if next == OUT || !self.is_reached[call as usize] {
                continue;
            }
            if !self.returns_are_followed(self.graph.node(call).target, next) {
                let cause = Cause::new(Why::CalleeDoes, call);
                let state = State::unknown(Kind::Called, cause);
                self.entries.push((next, state));
                self.reach(vec![next]);
            }
        }
    }
}
