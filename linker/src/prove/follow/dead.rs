//! Code that can only be reached by the return of a call that never returns.

use super::super::isa::{Flow, Isa};
use super::super::machine::Machine;
use super::Follow;

/// The largest number of instructions that an interrupt's entry has behind its call: each register's, and some for the stack.
const MOST_UNTIL_RETURN: usize = 64;

impl<I: Isa> Follow<'_, I> {
    /// Follows the code behind calls that never return, which compilers emit if they do not know that. It never runs, so wrong
    /// rows there do no harm; but a row that agrees with the code is better than an undecided one.
    pub(super) fn follow_dead(&mut self) {
        self.is_dead = true;
        for (start, machine) in std::mem::take(&mut self.dead) {
            if self.row_agrees(start, &machine) == Some(true)
                || I::KEEPS_INTERRUPTED_ON_STACK && self.leads_to_interrupt_return(start, &machine)
            {
                self.edge(start, &machine);
            }
        }
        self.run_worklist();
        self.is_dead = false;
    }

    /// Whether the code from here to an interrupt return is one block without calls. It tells, though it never runs, that this is a
    /// handler: one whose entry would return, but for the function that it calls.
    fn leads_to_interrupt_return(&mut self, start: u64, machine: &Machine) -> bool {
        let (mut at, mut machine) = (start, machine.clone());
        for _ in 0..MOST_UNTIL_RETURN {
            machine.at = at;
            let Some(code) = self.text.code_at(at).filter(|_| !self.world.is_entry(at)) else {
                return false;
            };
            let executed = self.judge.isa.execute(code, &mut machine, &mut self.tables);
            match executed.map(|executed| (executed.flow, executed.length)) {
                Some((Flow::Next, length)) => at = at.wrapping_add(length.into()),
                Some((flow, _)) => return flow == Flow::InterruptReturn,
                None => return false,
            }
        }
        false
    }
}
