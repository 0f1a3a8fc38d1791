//! Calls of code that runs straight to its return, which are followed as if this code stood at the call.
//!
//! Compilers move equal instructions of several functions into such code ("outlining"). It uses and changes the frame of its caller, and its
//! callers keep values in registers that a callee may overwrite.

use super::Claims;
use crate::graph::OUT;
use crate::instruction::{Effect, Flow};
use crate::state::State;
use crate::value::{Cause, Value, Why};

/// The most instructions of a callee that is followed.
const MOST: usize = 32;

impl Claims<'_> {
    /// Returns the instructions of the code that a direct call runs, with the return last. `None` if the code branches, calls or sets the
    /// link register, or if calls push the return address.
    pub(super) fn straight(&self, call: u32) -> Option<Vec<u32>> {
        let link = self.convention.link?;
        let node = self.graph.node(call);
        let mut number = match node.flow {
            Flow::Call if node.next != OUT => node.target,
            _ => return None,
        };
        let mut run = Vec::new();
        while number != OUT && run.len() < MOST {
            let node = self.graph.node(number);
            let sets_link = |effect: &Effect| matches!(effect, Effect::Set(to, _) if *to == link);
            if node.is_conditional || self.graph.effects(number).iter().any(sets_link) {
                return None;
            }
            run.push(number);
            match node.flow {
                Flow::Next => number = node.next,
                Flow::Return => return Some(run),
                _ => return None,
            }
        }
        None
    }

    /// The state after a direct call, if the code that it runs is straight.
    pub(super) fn run_straight(&self, call: u32, state: &State) -> Option<State> {
        let (run, link) = (self.straight(call)?, self.convention.link?);
        let mut state = state.clone();
        state.set(link, Value::Code(self.graph.node(call).next));
        run.iter()
            .for_each(|number| self.apply(*number, &mut state));
        Some(state)
    }

    /// Loses the words that the code of a direct call, if it is straight, frees or changes before it returns.
    pub(super) fn forget_freed(&self, call: u32, state: &mut State) {
        let Some(run) = self.straight(call) else {
            return;
        };
        let lost = Value::Unknown(Cause::new(Why::CalleeDoes, call));
        let mut during = state.clone();
        if let Some(link) = self.convention.link {
            during.set(link, Value::Code(self.graph.node(call).next));
        }
        for number in run {
            self.apply(number, &mut during);
            for (at, value) in &mut state.slots {
                let place = during.slots.binary_search_by_key(at, |slot| slot.0);
                if !place.is_ok_and(|place| during.slots[place].1 == *value) {
                    *value = lost;
                }
            }
        }
    }
}
