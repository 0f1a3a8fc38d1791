//! Switches of stacks: a function loads its stack pointer, and returns with the frame of the loaded stack.

use super::Claims;
use super::breaks::Way;
use crate::graph::OUT;
use crate::instruction::{Effect, Flow, Operand, Register};
use crate::state::{Kind, State};
use crate::value::{Cause, Value, Why};

/// Most instructions between the load of a stack pointer and the return. A switch restores one register per instruction.
const LONGEST: usize = 64;

impl Claims<'_> {
    /// Applies an instruction's effects, including a switch of stacks: if the instruction loads the stack pointer, and the code after it
    /// runs without a branch or call to a return that matches the frame before the load, the loaded stack has the same frame. If a way out is
    /// reached on a loaded stack otherwise, the frame on the stack that was left is none of this code.
    pub(super) fn step(&self, number: u32, state: &mut State) {
        let stack_pointer = self.convention.stack_pointer;
        let before = state.get(stack_pointer);
        let effects = self.graph.effects(number);
        let loads = |effect: &Effect| match effect {
            Effect::Set(to, Operand::Sum(base, _)) => *to == stack_pointer && *base != *to,
            Effect::Set(to, _) => *to == stack_pointer,
            _ => false,
        };
        let unknown = match effects.iter().any(loads) {
            true => self.unknown_registers(state),
            false => 0,
        };
        self.apply(number, state);
        if !before.is_known() || state.kind != Kind::Called || !self.is_switched(state) {
            return;
        }
        let from_register = state.get(stack_pointer).is_known();
        let mut resumed = state.clone();
        let cause = Cause::new(Why::Written, number);
        for register in 0..resumed.registers.len() as Register {
            resumed.set(register, Value::Unknown(cause));
        }
        resumed.set(stack_pointer, before);
        resumed.scatter(cause);
        if self.returns_straight(self.graph.node(number).next, resumed.clone(), unknown) {
            *state = resumed;
        } else if self.breaks[number as usize] & self.switched() != 0 {
            state.leave_stack(Cause::new(Why::NotFollowed, number));
            if from_register {
                // The coroutine that continues has different values in these registers.
                for value in &mut state.registers {
                    if matches!(value, Value::Entry(_)) {
                        *value = Value::Unknown(cause);
                    }
                }
            }
        }
    }

    /// The registers that callees keep and whose value of the caller a state has nowhere: a bit for each.
    fn unknown_registers(&self, state: &State) -> u64 {
        let slots = state.slots.iter().map(|(_, value)| value);
        let values = state.registers.iter().chain(slots);
        let known = values.filter_map(|value| match value {
            Value::Entry(register @ 0..64) => Some(1 << register),
            _ => None,
        });
        self.convention.kept & !known.fold(0, |all, one: u64| all | one)
    }

    /// Whether code with a state runs without a branch or call to a return that keeps the calling convention, except for some registers.
    fn returns_straight(&self, mut number: u32, mut state: State, except: u64) -> bool {
        for _ in 0..LONGEST {
            if number == OUT {
                return false;
            }
            let node = self.graph.node(number);
            self.apply(number, &mut state);
            if node.is_conditional || self.is_switched(&state) {
                return false;
            }
            match node.flow {
                Flow::Next => number = node.next,
                Flow::Return => return self.broken(&state, Way::Return) & !except == 0,
                _ => return false,
            }
        }
        false
    }
}
