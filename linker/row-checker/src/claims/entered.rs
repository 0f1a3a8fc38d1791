//! What calls and ends tell of how code is entered.

use super::Claims;
use crate::graph::Node;
use crate::instruction::Flow;

/// How code is entered, as far as its calls and ends tell.
pub(super) struct Entered {
    /// For each instruction: a direct call leads there.
    pub(super) is_called: Vec<bool>,
    /// From where a return from a trap is reached.
    pub(super) ends_in_trap_return: Vec<bool>,
    /// From where that, or code that is declared to be trap code, is reached.
    pub(super) leads_to_trap_return: Vec<bool>,
}

impl Entered {
    pub(super) fn of(claims: &Claims<'_>) -> Self {
        let graph = &claims.graph;
        let numbers = || 0..graph.nodes.len() as u32;
        let ends: Vec<u32> = numbers()
            .filter(|number| graph.node(*number).flow == Flow::TrapReturn)
            .collect();
        let functions = claims.program.functions.iter();
        let declared = functions.filter(|function| function.is_trap_code);
        let declared = declared.flat_map(|function| graph.between(function.start, function.end));
        let declared = declared.chain(ends.iter().copied()).collect();
        let mut is_called = vec![false; graph.nodes.len()];
        for callee in graph.nodes.iter().filter_map(Node::target_of_call) {
            is_called[callee as usize] = true;
        }
        Self {
            is_called,
            ends_in_trap_return: claims.leading_to(ends),
            leads_to_trap_return: claims.leading_to(declared),
        }
    }
}

impl Claims<'_> {
    /// Returns for each instruction whether control flow from there reaches one of these instructions.
    pub(super) fn leading_to(&self, mut work: Vec<u32>) -> Vec<bool> {
        let mut leads = vec![false; self.graph.nodes.len()];
        for number in &work {
            leads[*number as usize] = true;
        }
        while let Some(number) = work.pop() {
            for &before in self.predecessors.of(number) {
                if !std::mem::replace(&mut leads[before as usize], true) {
                    work.push(before);
                }
            }
        }
        leads
    }
}
