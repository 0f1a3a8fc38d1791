//! Whether rows are right where a function is followed.

use unwind::sframe::{Base, Row, Rule};

use super::super::isa::{Flow, Isa};
use super::super::judge::Judgement;
use super::super::machine::{MEMORY, Machine};
use super::super::value::Value;
use super::{Follow, NOTHING};

impl<I: Isa> Follow<'_, I> {
    /// Whether the row of call frame information for an address is right. `None`: there is none, or it is undecided.
    pub(super) fn row_agrees(&mut self, at: u64, machine: &Machine) -> Option<bool> {
        let row = self.rows.at(at)?;
        match self.judge.judge(&row, machine, &self.caller) {
            Judgement::Agrees => Some(true),
            Judgement::Contradicts => Some(false),
            Judgement::Undecided(_) => None,
        }
    }

    /// [`Self::row_agrees`], for an address in the running block whose rows before it agree. It need not be judged again if the row is
    /// the last one, and nothing has changed on which it depends.
    pub(super) fn row_still_agrees(&mut self, at: u64, machine: &mut Machine) -> bool {
        let main = [I::STACK_POINTER, I::FRAME_POINTER, I::RETURN_ADDRESS];
        let looked_at = main
            .iter()
            .chain(I::FOLLOWED)
            .fold(0, |all, register| all | 1_u64 << register);
        if self.agreed.contains(&at) && machine.changed & (looked_at | MEMORY) == 0 {
            return true;
        }
        let agrees = self.row_agrees(at, machine) == Some(true);
        let row = self.rows.at(at).filter(|row| agrees && is_usual(row));
        self.agreed = row.map_or(NOTHING, |_| self.rows.holds());
        machine.changed = 0;
        agrees
    }

    /// Whether an instruction is a call, or one to the next instruction, by which code learns where it is: a walk that begins behind it with
    /// what it has learnt goes by the row of the instruction before.
    pub(super) fn leaves_return_address(&self, flow: Flow, next: u64, after: &Machine) -> bool {
        let is_in_register = self.judge.architecture.fixed_return_address.is_none();
        let here = [Value::Constant(next), Value::Constant(next | 1)];
        matches!(flow, Flow::Call(_))
            || flow == Flow::Next && is_in_register && here.contains(&after.get(I::RETURN_ADDRESS))
    }

    /// Whether the row of a call also holds while the callee runs, which may have clobbered registers and memory.
    pub(super) fn row_agrees_during_call(&mut self, at: u64, machine: &Machine) -> bool {
        let row = self.rows.at(at);
        row.is_some_and(|row| {
            self.judge
                .judge_during_call(&row, machine, &self.caller)
                .is_none_or(|judgement| judgement == Judgement::Agrees)
        })
    }
}

/// Whether a row takes nothing from other registers than stack pointer and frame pointer.
fn is_usual(row: &Row) -> bool {
    let rules = [row.cfa, row.return_address, row.frame_pointer];
    !rules.iter().any(|rule| {
        matches!(
            rule,
            Rule::Value {
                base: Base::Register(_),
                ..
            } | Rule::Saved {
                base: Base::Register(_),
                ..
            }
        )
    })
}
