//! Code to which a signal handler returns. The code runs straight to the system call that restores the interrupted registers. The kernel has saved
//! these registers at constant distances from the stack pointer at that call.

use unwind::Kept;
use unwind::sframe::{Base, Row, Rule};

use super::Claims;
use super::entered::Entered;
use crate::graph::OUT;
use crate::instruction::{Effect, Flow, SignalFrame, SystemCalls};
use crate::state::State;
use crate::value::{Cause, Value, Why};

/// How many instructions are before the system call at most.
const STRAIGHT: usize = 4;

impl Claims<'_> {
    /// The places where code starts that runs straight to such a system call, and that no code calls, with the states there.
    pub(super) fn restorers(&self, entered: &Entered) -> Vec<(u32, State)> {
        let mut all = Vec::new();
        if !self.is_hosted {
            return all;
        }
        for number in 0..self.graph.nodes.len() as u32 {
            let Some(calls) = self.system_calls(number) else {
                continue;
            };
            let mut first = number;
            for _ in 0..=STRAIGHT {
                let is_entry = self.is_entry_of_signals(first);
                let is_entry = is_entry && !entered.is_called[first as usize];
                let row = is_entry.then(|| self.restored(first, number, calls));
                if let Some(row) = row.flatten() {
                    let places = self.border(first).into_iter().chain([first]);
                    all.extend(places.map(|place| (place, self.restoring(&row, place))));
                }
                let before = first.checked_sub(1).filter(|before| {
                    let node = self.graph.node(*before);
                    node.next == first && node.flow == Flow::Next && !node.is_conditional
                });
                let Some(before) = before else {
                    break;
                };
                first = before;
            }
        }
        all
    }

    /// Returns the system calls of an instruction, if one of them returns from a signal.
    fn system_calls(&self, number: u32) -> Option<&'static SystemCalls> {
        let calls = self
            .graph
            .effects(number)
            .iter()
            .find_map(|effect| match effect {
                Effect::SystemCall(calls) => Some(*calls),
                _ => None,
            });
        calls.filter(|calls| !calls.signal_returns.is_empty())
    }

    /// Whether code may be entered at an instruction: a function is declared there, or rows start there, or code or data contains its address.
    fn is_entry_of_signals(&self, number: u32) -> bool {
        let at = self.graph.node(number).at;
        let function = self.program.function(at);
        self.program.is_start(at)
            || function.is_some_and(|function| function.start == at)
            || self.program.taken.iter().any(|(address, _)| *address == at)
            || self.jumps.named.iter().any(|named| named.address == at)
            || self.border(number).is_some()
    }

    /// The byte of padding before code, if call frame information of the code starts there.
    fn border(&self, number: u32) -> Option<u32> {
        let start = self.graph.node(number).at.checked_sub(1)?;
        let before = self.graph.at(start)?;
        let node = self.graph.node(before);
        let is_border = node.flow == Flow::Unknown && node.is_padding && node.length == 1;
        (is_border && self.program.is_trap(start)).then_some(before)
    }

    /// The row at an instruction from which control runs straight to a return from a signal.
    fn restored(&self, first: u32, call: u32, calls: &SystemCalls) -> Option<Row> {
        let stack_pointer = self.convention.stack_pointer;
        let mut state = State::called(self.convention);
        let Value::Cfa(start) = state.get(stack_pointer) else {
            return None;
        };
        let mut number = first;
        while number != call {
            self.apply(number, &mut state);
            number = self.graph.node(number).next;
            if number == OUT {
                return None;
            }
        }
        let (Value::Number(called), Value::Cfa(top)) =
            (state.get(calls.number), state.get(stack_pointer))
        else {
            return None;
        };
        let mut frames = calls.signal_returns.iter();
        let frame: &SignalFrame = frames.find(|frame| frame.number == called)?;
        let saved = |offset: i32| Rule::Saved {
            base: Base::StackPointer,
            offset: i64::from(top) - i64::from(start) + i64::from(offset),
        };
        Some(Row {
            offset: 0,
            cfa: saved(frame.stack_pointer),
            return_address: saved(frame.program_counter),
            frame_pointer: saved(frame.frame_pointer),
            signed: false,
            kept: Kept::ALL,
        })
    }

    /// Returns the state that a row of such code describes. The registers still contain the values of the handler.
    fn restoring(&self, row: &Row, number: u32) -> State {
        let mut state = self.trapped(row, number);
        let handlers = Value::Unknown(Cause::new(Why::Entered, number));
        state.set(self.convention.frame_pointer, handlers);
        state
    }
}
