//! Where stacks begin: constants that code without a caller loads into the stack pointer.

use super::Claims;
use crate::architecture::Architecture;
use crate::instruction::Flow;
use crate::program::Program;
use crate::state::{Kind, StackBegin, State};
use crate::value::Value;

/// How many instructions make a constant at most.
const NEAR: usize = 8;

/// A stack pointer that counts from a constant which code has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedStackPointer {
    /// Where the instructions start that make the constant. All are in one block.
    pub start: u64,
    /// The instruction that loads the constant. `None`: the code from the start on does it, in a mode whose instructions are others.
    pub load: Option<u64>,
    /// Bytes that are added to the constant.
    pub offset: i32,
}

impl LoadedStackPointer {
    /// Returns the stack pointer, by the instructions of a program. `None`: they load no constant.
    #[must_use]
    pub fn value(&self, program: &Program<'_>, architecture: &dyn Architecture) -> Option<u64> {
        let constant = match self.load {
            None => architecture.loaded_in_other_mode(program, self.start)?,
            Some(load) => {
                let mut near = vec![self.start];
                while let Some(last) = near.last().copied().filter(|last| *last < load) {
                    let length = architecture.decode(program, last)?.length;
                    near.push(last + u64::from(length));
                }
                near.reverse();
                let register = architecture.convention().stack_pointer;
                architecture.constant(program, register, &near)?
            }
        };
        Some(constant.wrapping_add_signed(self.offset.into()))
    }
}

impl Claims<'_> {
    /// Returns the stack pointer in a state of code without a caller, if it counts from a constant that the code has loaded.
    pub(crate) fn loaded_stack_pointer(&self, state: &State) -> Option<LoadedStackPointer> {
        let Value::Cfa(offset) = state.get(self.convention.stack_pointer) else {
            return None;
        };
        let loaded = match state.begin {
            _ if state.kind != Kind::Outermost => return None,
            StackBegin::Loaded(number) => LoadedStackPointer {
                start: self.near(number),
                load: Some(self.graph.node(number).at),
                offset,
            },
            StackBegin::Entered => self.loaded_in_other_mode(offset)?,
            StackBegin::Unknown | StackBegin::Entry => return None,
        };
        let value = loaded.value(self.program, self.architecture);
        value.map(|_| loaded)
    }

    /// The address of the first instruction before another one, in the same block and near.
    fn near(&self, number: u32) -> u64 {
        let mut first = number;
        for _ in 1..NEAR {
            let Some(before) = first.checked_sub(1) else {
                break;
            };
            let node = self.graph.node(before);
            if node.next != first || node.flow != Flow::Next || self.is_head[first as usize] {
                break;
            }
            first = before;
        }
        self.graph.node(first).at
    }

    /// The constant that all code which boot loaders enter in another mode loads into the stack pointer.
    fn loaded_in_other_mode(&self, offset: i32) -> Option<LoadedStackPointer> {
        let loaded = |start: &u64| LoadedStackPointer {
            start: *start,
            load: None,
            offset,
        };
        let value = |one: &LoadedStackPointer| one.value(self.program, self.architecture);
        let mut all = self.program.other_mode.iter().map(loaded);
        let first = all.next()?;
        all.all(|other| value(&other) == value(&first))
            .then_some(first)
    }
}
