//! Where control goes after an instruction: to the next one, elsewhere in the function, to another function, or back to the
//! caller.

use super::super::compare::Condition;
use super::super::isa::{Flow, Isa};
use super::super::machine::Machine;
use super::super::value::{Base, Value};
use super::super::world::Returns;
use super::Follow;
use crate::reason::Reason;

impl<I: Isa> Follow<'_, I> {
    /// Adds the edges that an instruction has. Returns whether control may go on to the next instruction.
    pub(super) fn follow_flow(
        &mut self,
        flow: Flow,
        at: u64,
        next: u64,
        machine: &mut Machine,
    ) -> bool {
        match flow {
            Flow::Next => true,
            Flow::Stop => false,
            Flow::Branch(to, condition) => {
                if condition == Condition::Other {
                    self.jump(at, to, machine);
                    return true;
                }
                if machine.may(condition) {
                    match machine.consequence(condition) {
                        None => self.jump(at, to, machine),
                        Some(consequence) => {
                            let mut taken = machine.clone();
                            taken.apply(consequence);
                            self.jump(at, to, &taken);
                        }
                    }
                }
                let otherwise = condition.negated();
                let goes_on = machine.may(otherwise);
                machine.assume(otherwise);
                goes_on
            }
            Flow::Jump(to) => {
                self.jump_to_value(at, to, machine);
                false
            }
            Flow::Call(to) => self.call(to, at, next, machine),
            // Compilers put it where control cannot come; in assembly it may be a breakpoint whose handler returns.
            Flow::Trap => {
                self.world.goes_on(at, next) && self.row_agrees(next, machine) == Some(true)
            }
            Flow::Return(to) => {
                self.return_to(at, to, machine);
                false
            }
            Flow::InterruptReturn => {
                self.interrupt_return(at, machine);
                false
            }
        }
    }

    /// Control goes on at `next` as if the conditional instruction before it were not there.
    pub(super) fn pass_over(&mut self, at: u64, next: u64, mut before: Machine) {
        self.judge.isa.passed_over(&mut before);
        // The last one of a function is always executed.
        if self.world.goes_on(at, next) {
            self.jump(at, next, &before);
        }
    }

    /// A jump to a value: a constant, a jump table's entry, or an indirect tail call.
    fn jump_to_value(&mut self, at: u64, to: Value, machine: &Machine) {
        match to {
            Value::Constant(to) => self.jump(at, to, machine),
            Value::Table(number) => {
                let table = self.tables.get(number);
                if !table.is_bounded {
                    self.outcome.guesses = true;
                }
                match self.table_targets(at, &table) {
                    Some(targets) => {
                        for to in targets {
                            self.jump(at, to, machine);
                        }
                    }
                    None => self.outcome.fail(Reason::IndirectJump(at)),
                }
            }
            // With the stack as at the entry, it is an indirect tail call.
            _ if self.is_as_at_entry(machine) => self.outcome.returns = true,
            // After a switch to another stack nothing is claimed.
            _ if machine.lost.is_some() => {}
            _ => self.outcome.fail(Reason::IndirectJump(at)),
        }
    }

    /// A jump to an address.
    pub(super) fn jump(&mut self, at: u64, to: u64, machine: &Machine) {
        if to != self.start && self.world.is_entry(to) {
            if self.is_as_at_entry(machine) {
                self.outcome.tail_calls.insert(to);
                self.outcome.returns |= self.world.returns(to) != Returns::No;
                self.outcome.has_return |= self.world.returns(to) == Returns::Yes;
            } else if machine.lost.is_none() {
                self.outcome.intrudes.insert(to);
            }
            return;
        }
        if self.text.code_at(to).is_none() {
            return self.outcome.fail(Reason::NotCode(at));
        }
        self.edge(to, machine);
    }

    fn call(&mut self, to: Value, at: u64, next: u64, machine: &mut Machine) -> bool {
        let landing_pad = self.world.landing_pad(at);
        let target = match to {
            Value::Constant(to) => {
                self.called(to, at, machine);
                Some(to)
            }
            _ => None,
        };
        let word = || self.judge.isa.called_through(self.text.code_at(at)?, at);
        let returns = target
            .or_else(word)
            .map_or(Returns::Perhaps, |to| self.world.returns(to));
        // Only if the callee perhaps returns, this makes a difference.
        let was_wrong = returns == Returns::Perhaps && self.row_agrees(at, machine) == Some(false);
        self.returned(to, machine);
        if let Some(pad) = landing_pad {
            let mut landed = machine.clone();
            let sp = landed.sp().plus(Value::Constant(pad.arguments));
            landed.set(I::STACK_POINTER, sp);
            self.edge(pad.pad, &landed);
        }
        if !self.world.goes_on(at, next) {
            if returns != Returns::No {
                self.run_into(next, machine);
            }
            return false;
        }
        let goes_on = match returns {
            Returns::Yes => true,
            Returns::No => {
                if self.is_dead {
                    self.edge(next, machine);
                } else {
                    self.dead.insert(next, machine.clone());
                }
                false
            }
            // If the row after the call expects another stack depth, either that row is wrong or the callee never returns.
            // Only a row that is wrong before the call, too, tells that it is the row.
            Returns::Perhaps => was_wrong || self.row_agrees(next, machine) != Some(false),
        };
        if let Some(to) = target {
            match goes_on {
                true => self.outcome.relies_on.insert(to),
                false => self.outcome.stops_at.insert(to),
            };
        }
        goes_on
    }

    /// Notes a direct call. If it is the call of a stub, the interrupt return of the callee is an interrupt return of the stub.
    fn called(&mut self, to: u64, at: u64, machine: &Machine) {
        let frame = self.world.trap_code.get(&to).and_then(|bytes| {
            let Value::Stack(Base::ENTRY, top) = machine.sp() else {
                return None;
            };
            let frame = top.wrapping_add(bytes - i64::from(I::WORD));
            let is_own = match self.caller.is_interrupted {
                true => machine.peek(Base::ENTRY, frame, I::WORD) == self.caller.return_address,
                false => matches!(frame, 0 | 8),
            };
            is_own.then_some(frame)
        });
        let Some(frame) = frame else {
            self.outcome.calls.insert(to);
            return;
        };
        self.outcome.enters.insert(to);
        if !self.caller.is_interrupted {
            self.outcome.interrupt_return = Some((at, frame));
        }
    }

    /// Control flow reaches code without a jump. A label in the middle of a function looks like the entry of a second function.
    pub(super) fn run_into(&mut self, to: u64, machine: &Machine) {
        let is_label = self.world.is_entry(to) && self.world.function_at(to).is_none();
        if is_label && machine.lost.is_none() && !self.is_dead {
            self.outcome.runs_into.insert(to);
        }
    }

    /// Changes the state as a call does that has returned.
    pub(super) fn returned(&self, to: Value, machine: &mut Machine) {
        let effect = match to {
            Value::Constant(to) => self.world.effect(to),
            _ => None,
        };
        let before = effect.map(|_| machine.clone());
        machine.call(I::KEPT_BY_CALLS);
        if let (Some(effect), Some(before)) = (effect, before) {
            let pushed = self.judge.architecture.fixed_return_address.unwrap_or(0);
            effect.apply(&before, machine, pushed.into(), I::WORD);
        }
    }

    /// Whether stack pointer, frame pointer and return address are as at the function's entry, so that a jump is a tail call.
    pub(super) fn is_as_at_entry(&self, machine: &Machine) -> bool {
        let frame_pointer = machine.get(I::FRAME_POINTER) == Value::entry(I::FRAME_POINTER);
        let is_there = match self.judge.architecture.fixed_return_address {
            Some(_) => machine.peek(Base::ENTRY, 0, I::WORD) == self.caller.return_address,
            None => machine.get(I::RETURN_ADDRESS) == self.caller.return_address,
        };
        machine.sp() == Value::Stack(Base::ENTRY, 0) && frame_pointer && is_there
    }

    fn return_to(&mut self, at: u64, to: Value, machine: &Machine) {
        if to == self.caller.return_address && machine.sp() == self.caller.stack_pointer {
            self.outcome.returns = true;
            self.outcome.has_return = true;
            match &mut self.exit {
                Some(exit) => {
                    exit.join(machine, at);
                }
                None => self.exit = Some(machine.clone().into()),
            }
            return;
        }
        match (to, machine.sp()) {
            (Value::Constant(to), _) => self.jump(at, to, machine),
            (Value::Table(_), _) => self.jump_to_value(at, to, machine),
            // From another stack, or with arguments popped by the callee.
            (_, Value::Stack(base, _)) if base != Base::ENTRY => self.outcome.returns = true,
            _ => {
                self.outcome.returns = true;
                if machine.lost.is_none() {
                    self.outcome.fail(Reason::Unbalanced(at));
                }
            }
        }
    }

    fn interrupt_return(&mut self, at: u64, machine: &Machine) {
        match (self.caller.is_interrupted, machine.sp()) {
            (false, Value::Stack(Base::ENTRY, offset)) => {
                self.outcome.interrupt_return = Some((at, offset));
            }
            (true, Value::Stack(base, offset))
                if machine.peek(base, offset, I::WORD) == self.caller.return_address => {}
            // On AArch64 the interrupted address is in a system register (`ELR_EL1`), not on the stack.
            (true, _) if !I::KEEPS_INTERRUPTED_ON_STACK => {}
            _ => self.outcome.fail(Reason::Unbalanced(at)),
        }
    }
}
