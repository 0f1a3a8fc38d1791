//! Jumps by a pointer: which are taken for calls in the last place, and where the others lead.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::breaks::Way;
use super::{ALL, Claims};
use crate::graph::Edge;
use crate::instruction::{Effect, Flow};
use crate::state::{Kind, State};
use crate::value::{Value, Why};

impl Claims<'_> {
    /// Whether a jump with this state is a call in the last place: stack pointer and return address are those of an entry, or the stack
    /// pointer was loaded.
    pub(super) fn leaves_as_called(&self, state: &State) -> bool {
        state.kind == Kind::Outermost
            || state.opened.is_none() && (self.is_entry(state) || self.is_switched(state))
    }

    /// Whether a jump by a pointer, with this state after it, is taken for a call in the last place.
    pub(super) fn leaves(&self, number: u32, state: &State) -> bool {
        self.jumps.by_pointer.contains(&number)
            && self.leaves_as_called(state)
            && (self.is_switched(state) || self.broken(state, Way::Jump) == 0)
    }

    /// The entries of tables that only jumps which are taken for calls in the last place may read.
    pub(super) fn left_targets(&self) -> Vec<u64> {
        let (left, followed): (Vec<_>, Vec<_>) =
            (self.jumps.tabled.iter()).partition(|(jump, _)| self.leaving.contains(jump));
        let is_followed: FxHashSet<u32> = (followed.iter())
            .filter(|(jump, _)| self.is_reached[**jump as usize])
            .flat_map(|(_, targets)| targets.iter().copied())
            .collect();
        let targets = left.iter().flat_map(|(_, targets)| targets.iter());
        let mut targets: Vec<u64> = targets
            .filter(|target| !is_followed.contains(target))
            .map(|target| self.graph.node(*target).at)
            .collect();
        targets.sort_unstable();
        targets
    }

    /// Whether the block with a head ends in a return that does not lead to the caller, and is not followed, although the code was called. Only
    /// where calls push the return address: an address is pushed to be returned to.
    fn goes_astray(&self, head: u32, number: u32) -> bool {
        if self.graph.node(number).flow != Flow::Return || self.convention.link.is_some() {
            return false;
        }
        let Some(state) = self.behind(head) else {
            return false;
        };
        let is_followed = self.constant_target(number, &state).is_some();
        let stack_pointer = state.get(self.convention.stack_pointer);
        let is_known = match stack_pointer {
            Value::Unknown(cause) => matches!(cause.why(), Why::Ways | Why::Moved),
            _ => true,
        };
        !is_followed && is_known && self.broken(&state, Way::Return) == ALL
    }

    /// The instructions after a call in its function.
    fn behind_call(&self, call: u32) -> impl Iterator<Item = u32> {
        let own = self.extents.of[call as usize];
        let all = self.extents.all[own as usize].1.iter().copied();
        all.filter(move |number| *number > call)
    }

    /// Whether a call whose callee may return to a different address has edges to all instructions after it.
    pub(super) fn is_led_astray(&self, call: u32) -> bool {
        let edges = self.graph.more(call).iter();
        let count = edges.filter(|edge| edge.1 == Edge::Anywhere).count();
        self.astray.contains(&call) && count >= self.behind_call(call).count()
    }

    /// Adds edges from each call whose callee may return to a different address, to all instructions after the call in its function.
    /// Returns whether any edge is new.
    pub(super) fn lead_astray(&mut self) -> bool {
        let calls = self.astray.iter().copied();
        let calls: Vec<u32> = calls.filter(|call| !self.is_led_astray(*call)).collect();
        for call in &calls {
            let behind: BTreeSet<u32> = self.behind_call(*call).collect();
            self.graph.lead(*call, &behind, Edge::Anywhere);
        }
        !calls.is_empty()
    }

    /// Whether an instruction sets the register that represents a jump's target. The only calls that set it are far calls (x86-64).
    fn sets_target(&self, number: u32) -> bool {
        let lost = self.convention.lost;
        let sets = |effect: &Effect| matches!(effect, Effect::Set(to, _) if *to == lost);
        self.graph.effects(number).iter().any(sets)
    }

    /// The registers that a far jump at the end of the block with a head breaks: all, unless the code has no caller.
    fn left_behind(&self, head: u32) -> u64 {
        match self.behind(head) {
            Some(state) if state.kind != Kind::Outermost => ALL,
            _ => 0,
        }
    }

    /// Finds jumps by a pointer that are taken for calls in the last place in spite of a table, and what jumps that are not followed break:
    /// without a table in their function they lead anywhere. Returns whether that has changed.
    pub(super) fn find_jumps(&mut self) -> bool {
        let mut anywhere = self.anywhere;
        let mut leaving: Vec<u32> = Vec::new();
        let mut is_far_called = self.is_far_called;
        let mut returned: FxHashSet<u64> = FxHashSet::default();
        for head in self.heads() {
            let number = self.last(head);
            if self.goes_astray(head, number) {
                let own = self.extents.of[number as usize];
                let names = self.jumps.named.iter();
                let names = names.filter(|named| {
                    let number = self.graph.at(named.at);
                    number.is_some_and(|number| self.extents.of[number as usize] == own)
                });
                returned.extend(names.map(|named| named.address));
            }
            let node = self.graph.node(number);
            let is_far_call = node.flow == Flow::IndirectCall && self.sets_target(number);
            is_far_called |= is_far_call;
            if node.flow == Flow::Unknown && !node.is_padding {
                anywhere |= self.left_behind(head);
            }
            if !self.jumps.open.contains(&number) || node.flow == Flow::Unknown {
                continue;
            }
            let Some(state) = self.behind(head) else {
                continue;
            };
            if self.jumps.tabled.contains_key(&number) {
                if self.leaves(number, &state) {
                    leaving.push(number);
                }
            } else if !self.is_linkage(self.graph.node(number).at) {
                // On another stack, code goes on that waits there.
                anywhere |= match self.broken(&state, Way::Jump) {
                    _ if self.constant_target(number, &state).is_some() => 0,
                    _ if state.kind.is_trap() => ALL,
                    ALL => ALL,
                    _ if self.is_switched(&state) => 0,
                    broken => broken,
                };
            }
        }
        leaving.retain(|jump| !self.leaving.contains(jump));
        let is_new = !leaving.is_empty()
            || !returned.is_subset(&self.returned)
            || is_far_called != self.is_far_called;
        self.is_far_called = is_far_called;
        self.returned.extend(returned);
        self.leaving.extend(leaving);
        std::mem::replace(&mut self.anywhere, anywhere) != anywhere || is_new
    }
}
