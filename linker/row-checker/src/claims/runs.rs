//! Runs of instructions under one condition are followed from the first instruction to the last one, once for each outcome of the condition.

use super::Claims;
use crate::graph::{Node, Run, Runs};
use crate::state::State;

impl Claims<'_> {
    /// Executes the last instruction of a block, and the run under one condition that it begins. Calls `arrives` with each state that leaves
    /// the block or the run. An instruction within a run has the states of both outcomes, by which its row is judged. Returns as [`Self::follow`] does.
    pub(super) fn leave(
        &self,
        number: u32,
        before: State,
        mut arrives: impl FnMut(u32, &State),
    ) -> Option<(u32, u32)> {
        match self.runs.of(number) {
            None => self.leave_instruction(number, before, None, arrives),
            Some(run) if run.first == number => {
                let (executed, passed) = self.outcomes(run, before, &mut arrives);
                self.leave_instruction(run.last, executed, Some(passed), arrives)
            }
            // The first instruction has brought the states.
            Some(_) => None,
        }
    }

    /// The states before the last instruction of a run: the one with which it is executed, and the one with which it is not. Calls `arrives`
    /// with those that come to heads of blocks within the run.
    fn outcomes(
        &self,
        run: Run,
        before: State,
        mut arrives: impl FnMut(u32, &State),
    ) -> (State, State) {
        let [mut holds, mut fails] = [before.clone(), before];
        for number in run.first..run.last {
            let node = self.graph.node(number);
            for (state, outcome) in [(&mut holds, true), (&mut fails, false)] {
                if run.executes(node, outcome) {
                    self.step(number, state);
                }
                if self.is_head[node.next as usize] {
                    arrives(node.next, state);
                }
            }
        }
        match run.executes(self.graph.node(run.last), true) {
            true => (holds, fails),
            false => (fails, holds),
        }
    }

    /// The state after the last instruction of the block with a head.
    pub(super) fn behind(&self, head: u32) -> Option<State> {
        let leading = self.leading(head);
        let state = self.states[leading as usize].as_deref()?;
        let (number, mut state) = self.run(leading, state, |_, _| {});
        let last = self.last(head);
        if let Some(run) = self.runs.of(number).filter(|run| run.last == last) {
            state = self.outcomes(run, state, |_, _| {}).0;
        }
        self.apply(last, &mut state);
        Some(state)
    }

    /// The head of the block that brings the states which leave the block with a head: another one if a run contains the last instruction.
    pub(super) fn leading(&self, head: u32) -> u32 {
        let last = self.last(head);
        let Some(run) = self.runs.of(last).filter(|run| run.last == last) else {
            return head;
        };
        let mut number = run.first;
        while !self.is_head[number as usize]
            && let [before] = self.predecessors.of(number)
        {
            number = *before;
        }
        number
    }

    /// Finds the runs of the code as it is.
    pub(super) fn found_runs(&self) -> Runs {
        let mut is_entered = vec![false; self.graph.nodes.len()];
        let entries = self.entries.iter().map(|(number, _)| number);
        let nodes = self.graph.nodes.iter();
        let called: Vec<u32> = nodes.filter_map(Node::target_of_call).collect();
        for number in entries.chain(self.trap_starts.keys()).chain(&called) {
            is_entered[*number as usize] = true;
        }
        Runs::find(&self.graph, &self.graph.predecessors(), &is_entered)
    }

    /// Whether the runs are those of the code as it is.
    pub(crate) fn runs_hold(&self) -> bool {
        self.found_runs() == self.runs
    }
}
