//! Whether claims hold: each is compared with what one step from the others brings.

use super::{ALL, Claims};
use crate::graph::{Edge, OUT, Predecessors};
use crate::instruction::Flow;
use crate::state::State;

impl Claims<'_> {
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
            let broken = self.broken_at(head, number);
            holds &= broken & !self.breaks[number as usize] == 0;
            let is_astray = broken == ALL && self.graph.node(number).flow == Flow::Call;
            holds &= !is_astray || self.is_led_astray(number);
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
        let is_claimed = |number: usize| !leaves[number] || self.leads_out[number];
        (0..count).all(is_claimed)
            && (0..count as u32).all(|number| {
                let node = self.graph.node(number);
                let is_call = node.flow == Flow::Call && node.target != OUT;
                !is_call || self.returns[number as usize] || !leaves[node.target as usize]
            })
    }
}
