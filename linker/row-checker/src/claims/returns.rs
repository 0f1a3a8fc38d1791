//! Which calls may come back.
//!
//! It is the least set: at first nobody returns. A function may return if a way out is reached over calls that may return themselves. The
//! first return that contradicts this would have had to come over calls that had returned before.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Claims;
use crate::graph::{Edge, OUT};
use crate::instruction::Flow;

impl Claims<'_> {
    /// Finds the calls that may come back again. Returns whether there are others than before.
    pub(super) fn returns_change(&mut self) -> bool {
        let before = (self.returns.clone(), self.leads_out.clone());
        self.find_returns();
        (&self.returns, &self.leads_out) != (&before.0, &before.1)
    }

    /// Finds the calls that may come back.
    pub(super) fn find_returns(&mut self) {
        let count = self.graph.nodes.len();
        if self.graph.take_changed() {
            self.predecessors = self.graph.predecessors();
        }
        // From where a way out is reached.
        let mut leaves = vec![false; count];
        let mut callers: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut work: Vec<u32> = Vec::new();
        for number in 0..count as u32 {
            let node = *self.graph.node(number);
            let callee = if node.flow == Flow::Call {
                node.target
            } else {
                OUT
            };
            let is_astray = self.astray.contains(&number);
            let mut falls_out = false;
            self.graph
                .successors(number, true, |to, _| falls_out |= to == OUT);
            let is_way_out = matches!(node.flow, Flow::Return | Flow::TrapReturn | Flow::Unknown)
                || self.jumps.open.contains(&number)
                || falls_out && callee == OUT
                || is_astray;
            if is_way_out {
                leaves[number as usize] = true;
                work.push(number);
            }
            if callee != OUT {
                callers[callee as usize].push(number);
            }
            self.returns[number as usize] = callee == OUT || is_astray;
        }
        // The targets of each call's edges, except the edge to the instruction after the call.
        let mut others: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
        while let Some(number) = work.pop() {
            let mut mark = |one: u32, work: &mut Vec<u32>| {
                if !std::mem::replace(&mut leaves[one as usize], true) {
                    work.push(one);
                }
            };
            // Whoever calls an instruction from which a way out is reached goes on behind the call.
            let mut on = Vec::new();
            for &call in &callers[number as usize] {
                if !std::mem::replace(&mut self.returns[call as usize], true) {
                    on.push(call);
                }
            }
            for &before in self.predecessors.of(number) {
                let node = self.graph.node(before);
                // Behind a call that does not come back, other edges may lead there; one to code that nothing else reaches does not count.
                let leads = node.flow != Flow::Call || {
                    let comes_back = self.returns[before as usize]
                        && !self.graph.is_at_end[before as usize]
                        && node.next == number;
                    // A call can have as many edges as the image has unreached blocks, so they are looked through only once.
                    let others = others.entry(before).or_insert_with(|| {
                        let mut others = FxHashSet::default();
                        self.graph.successors(before, false, |to, edge| {
                            if edge != Edge::Behind {
                                others.insert(to);
                            }
                        });
                        others
                    });
                    comes_back || others.contains(&number)
                };
                if leads {
                    mark(before, &mut work);
                }
            }
            for call in on {
                let node = self.graph.node(call);
                let is_at_end = self.graph.is_at_end[call as usize];
                if !is_at_end
                    && (node.next == OUT || leaves[node.next as usize])
                    && !leaves[call as usize]
                {
                    leaves[call as usize] = true;
                    work.push(call);
                }
            }
        }
        self.leads_out = leaves;
    }
}
