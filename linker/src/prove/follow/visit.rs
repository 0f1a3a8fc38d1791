//! The state before each instruction, when all blocks have run for the last time.

use super::super::block::Block;
use super::super::compare::Condition;
use super::super::isa::{Flow, Isa};
use super::super::machine::Machine;
use super::Follow;

/// A reachable instruction, and the abstract state around it.
#[derive(Clone, Debug)]
pub struct Point<'m> {
    /// Its address.
    pub at: u64,
    /// Its length, in bytes.
    pub length: u8,
    /// The state before it.
    pub machine: &'m Machine,
    /// If it is a call, the state after the callee has returned.
    pub during_call: Option<&'m Machine>,
    /// It can only be reached by the return of a call that never returns.
    pub is_dead: bool,
}

impl<I: Isa> Follow<'_, I> {
    /// Calls `see` for every instruction of a block, in ascending order, with the state there. Only valid after the fixed point
    /// is reached: before that, a state has not been joined with those of all predecessors.
    pub fn visit(
        &self,
        start: u64,
        block: &Block<I::Instruction>,
        mut see: impl FnMut(&Point<'_>),
    ) {
        let mut tables = self.tables.clone();
        let mut machine = block.machine.clone();
        machine.changed = u64::MAX;
        // Overwritten for each instruction, which reuses its allocations.
        let mut before = machine.clone();
        let mut at = start;
        for instruction in &block.decoded {
            if at >= block.end {
                return;
            }
            machine.at = at;
            before.clone_from(&machine);
            machine.changed = 0;
            let executed = self.judge.isa.run(instruction, &mut machine, &mut tables);
            let Some(executed) = executed else {
                return;
            };
            match executed.flow {
                Flow::Branch(_, condition) if condition != Condition::Other => {
                    machine.assume(condition.negated());
                }
                Flow::Call(to) => self.returned(to, &mut machine),
                _ => {}
            }
            let next = at.wrapping_add(executed.length.into());
            let is_call = self.leaves_return_address(executed.flow, next, &machine);
            see(&Point {
                at,
                length: executed.length,
                machine: &before,
                during_call: is_call.then_some(&machine),
                is_dead: block.is_dead,
            });
            at = next;
        }
    }
}
