//! Trap code that never returns, so that nothing in it shows how it is entered.

use rustc_hash::FxHashSet;

use super::Claims;
use super::entered::Entered;
use crate::graph::{Edge, OUT};
use crate::instruction::Flow;
use crate::state::State;

impl Claims<'_> {
    /// The state of a function of x86-64 whose rows are those of trap code, that never returns, and to which no call or jump leads. The processor
    /// may enter it, or a call by a pointer. Its rows are listed as proven only if the processor entered it, see [`Claims::assumed`].
    pub(super) fn assumed_trap(
        &self,
        entered: &Entered,
        number: u32,
        address: u64,
    ) -> Option<State> {
        let function = self.program.function(address)?;
        let is_claimed = function.is_trap_code && function.start == address;
        let is_known = self.is_trap(entered, number, address) || entered.is_called[number as usize];
        let mut before = self.predecessors.of(number).iter();
        let is_reached = before.any(|before| !self.graph.node(*before).is_padding);
        let is_assumed = self.convention.aligns_at_traps && is_claimed && !is_known && !is_reached;
        let row = function.rows.first().filter(|_| is_assumed)?;
        // A jump that may lead anywhere would bring the state of trap code to all functions.
        let reached = self.reached_from(vec![number])?;
        let mut flows = reached.iter().map(|one| self.graph.node(*one).flow);
        let leaves =
            flows.any(|flow| matches!(flow, Flow::Return | Flow::IndirectJump | Flow::Unknown));
        (!leaves).then(|| self.trapped(row, number))
    }

    /// For each instruction: it is reached from the start of a function that the processor enters only as its rows say.
    pub(crate) fn assumed(&self) -> Vec<bool> {
        let starts = self.assumed_starts.iter().copied().collect();
        let mut is_assumed = vec![false; self.graph.nodes.len()];
        match self.reached_from(starts) {
            Some(reached) => reached
                .into_iter()
                .for_each(|number| is_assumed[number as usize] = true),
            None => is_assumed.fill(true),
        }
        is_assumed
    }

    /// The instructions that are reached from these without a call. `None`: a jump that may lead anywhere is among them.
    fn reached_from(&self, mut work: Vec<u32>) -> Option<FxHashSet<u32>> {
        let (mut reached, mut is_followed) = (FxHashSet::default(), true);
        while let Some(number) = work.pop() {
            if !reached.insert(number) {
                continue;
            }
            self.successors(number, |to, edge| match edge {
                Edge::Anywhere => is_followed = false,
                _ if to != OUT => work.push(to),
                _ => {}
            });
        }
        is_followed.then_some(reached)
    }
}
