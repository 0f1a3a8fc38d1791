//! Whether claims hold: each is compared with what one step from the others brings.

use super::Claims;
use crate::graph::{Edge, OUT, Predecessors};
use crate::instruction::Flow;
use crate::state::State;

impl Claims<'_> {
    /// For each instruction: edges of which `counts` is true, and calls, lead there from some of these.
    pub(crate) fn reached_from(
        &self,
        mut work: Vec<u32>,
        counts: impl Fn(Edge) -> bool,
    ) -> Vec<bool> {
        let mut is_reached = vec![false; self.graph.nodes.len()];
        while let Some(number) = work.pop() {
            if std::mem::replace(&mut is_reached[number as usize], true) {
                continue;
            }
            self.successors(number, |to, edge| {
                if to != OUT && counts(edge) {
                    work.push(to);
                }
            });
            work.extend(self.graph.node(number).target_of_call());
        }
        is_reached
    }

    /// For each instruction: it is known how control comes there. Code that only lies behind a call that does not return may be entered from
    /// elsewhere, such as by an address that is computed.
    pub(crate) fn is_certain(&self) -> Vec<bool> {
        let entries = self.entries.iter().map(|(number, _)| *number);
        let reached = self.graph.nodes.iter().zip(&self.is_reached);
        let callees = reached.filter(|(_, is_reached)| **is_reached);
        let callees = callees.filter_map(|(node, _)| node.target_of_call());
        self.reached_from(entries.chain(callees).collect(), |edge| {
            edge != Edge::Behind
        })
    }

    /// Whether what is claimed of an instruction follows from a state with which control comes there.
    pub(crate) fn is_implied(&self, number: u32, state: &State) -> bool {
        let Some(claim) = &self.states[number as usize] else {
            return false;
        };
        !(**claim).clone().meet(
            &self.believed(number, state),
            self.convention.stack_pointer,
            number,
        )
    }

    /// Whether what is claimed of each entry follows from the state there.
    pub(crate) fn entries_hold(&self) -> bool {
        self.entries
            .iter()
            .all(|(number, state)| self.is_implied(*number, state))
    }

    /// Whether everything that a way out breaks is claimed of all instructions that lead there.
    pub(crate) fn breaks_hold(&self) -> bool {
        let mut holds = true;
        for head in self.heads() {
            let number = self.last(head);
            holds &= self.broken_at(head, number) & !self.breaks[number as usize] == 0;
            if self.jumps.tabled.contains_key(&number) && !self.leaving.contains(&number) {
                let behind = self.behind(head);
                holds &= behind.is_some_and(|behind| !self.leaves(number, &behind));
            }
        }
        for number in 0..self.graph.nodes.len() as u32 {
            let own = self.breaks[number as usize];
            self.successors(number, |to, _| {
                holds &= to == OUT || self.breaks[to as usize] & !own == 0;
            });
        }
        holds
    }

    /// Whether each call that is claimed not to come back calls code from which no way out is reached.
    pub(crate) fn returns_hold(&self) -> bool {
        let count = self.graph.nodes.len();
        let mut leaves = vec![false; count];
        let mut work: Vec<u32> = Vec::new();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for number in 0..count as u32 {
            let node = self.graph.node(number);
            let mut is_way_out =
                matches!(node.flow, Flow::Return | Flow::TrapReturn | Flow::Unknown)
                    || self.jumps.open.contains(&number)
                    || self.astray.contains(&number);
            self.successors(number, |to, edge| match to {
                OUT => is_way_out |= node.flow != Flow::Call,
                _ if edge == Edge::Behind && node.flow == Flow::Call => {}
                to => edges.push((number, to)),
            });
            if is_way_out {
                leaves[number as usize] = true;
                work.push(number);
            }
        }
        let before = Predecessors::of_edges(count, &edges);
        while let Some(number) = work.pop() {
            for &one in before.of(number) {
                if !std::mem::replace(&mut leaves[one as usize], true) {
                    work.push(one);
                }
            }
        }
        (0..count as u32).all(|number| {
            let node = self.graph.node(number);
            let is_call = node.flow == Flow::Call && node.target != OUT;
            !is_call || self.returns[number as usize] || !leaves[node.target as usize]
        })
    }
}
