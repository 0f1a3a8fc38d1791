//! Stubs that call trap code: the return address, by which the trap code finds the number of the trap, is on top of what the CPU has saved.

use rustc_hash::FxHashSet;
use unwind::sframe::{Base, Row, Rule};

use super::Claims;
use crate::graph::{Edge, OUT};
use crate::instruction::Flow;

impl Claims<'_> {
    /// Takes calls of trap code for jumps, if the first row of this code places the interrupted program counter above the return address.
    pub(super) fn find_stubs(&mut self) {
        if self.convention.link.is_some() {
            return;
        }
        let calls = (0..self.graph.nodes.len() as u32).filter(|number| {
            let callee = self.graph.node(*number).target_of_call();
            callee.is_some_and(|callee| self.is_called_by_stubs(callee))
        });
        let calls = calls.collect();
        self.make_detours(calls);
    }

    /// Whether an instruction is the start of trap code with a first row for stubs that call it.
    fn is_called_by_stubs(&self, number: u32) -> bool {
        let word = i64::from(self.convention.word);
        let is_above = |row: &Row| matches!(row.return_address, Rule::Saved { base: Base::StackPointer, offset } if offset >= word);
        let start = self.graph.node(number).at;
        let function = self.program.function(start);
        let function = function.filter(|one| one.is_trap_code && one.start == start);
        let row = function.and_then(|function| function.rows.first());
        row.is_some_and(is_above) && self.reaches_trap_return(number)
    }

    /// Whether a return from a trap is reached from an instruction without a jump that may lead anywhere.
    fn reaches_trap_return(&self, number: u32) -> bool {
        let (mut reached, mut work) = (FxHashSet::default(), vec![number]);
        while let Some(number) = work.pop() {
            if !reached.insert(number) {
                continue;
            }
            if self.graph.node(number).flow == Flow::TrapReturn {
                return true;
            }
            self.successors(number, |to, edge| {
                if to != OUT && edge != Edge::Anywhere {
                    work.push(to);
                }
            });
        }
        false
    }
}
