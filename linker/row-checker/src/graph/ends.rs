//! Instructions with which functions end.

use super::{Graph, Node};
use crate::instruction::Flow;
use crate::program::Program;

impl Graph {
    /// Finds the calls, halts and traps behind which nothing but padding lies in their function, by its declared extent. For a trap in code
    /// that has no caller and no declared extent, this ends where the next one starts: boot code ends with a trap and the linker's padding.
    pub fn find_ends(&mut self, program: &Program<'_>) {
        let is_at_end = |node: &Node| {
            let is_trap = node.flow == Flow::Trap;
            if !is_trap && !matches!(node.flow, Flow::Call | Flow::IndirectCall | Flow::Halt) {
                return false;
            }
            let declared = program.declared_end(node.at);
            if declared.is_none() && !(is_trap && program.is_outermost(node.at)) {
                return false;
            }
            let is_end = |at| match declared {
                Some(end) => at >= end,
                None => program.is_declared_start(at),
            };
            let mut at = node.at + u64::from(node.length);
            // Directives for trap code often end after the call of its handler, which returns. It does not if it would return to padding
            // that traps.
            let function = program.function(node.at);
            let is_call = matches!(node.flow, Flow::Call | Flow::IndirectCall);
            if is_call && function.is_some_and(|function| function.is_trap_code) {
                return declared == Some(at) && self.is_trap_padding(program, at);
            }
            while !is_end(at) {
                let Some(next) = self.at(at).map(|number| self.node(number)) else {
                    return false;
                };
                let is_skipped = next.is_padding && (is_trap || next.flow == Flow::Next)
                    || is_trap && next.flow == Flow::Trap;
                if !is_skipped {
                    return false;
                }
                at += u64::from(next.length);
            }
            true
        };
        self.is_at_end = self.nodes.iter().map(is_at_end).collect();
    }

    /// Checks whether only traps separate an address from the declared start of a function, and at least one does.
    fn is_trap_padding(&self, program: &Program<'_>, start: u64) -> bool {
        let mut at = start;
        while !program.is_declared_start(at) {
            let Some(next) = self.at(at).map(|number| self.node(number)) else {
                return false;
            };
            if next.flow != Flow::Trap {
                return false;
            }
            at += u64::from(next.length);
        }
        at > start
    }
}
