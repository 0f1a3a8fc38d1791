//! The shadow call stack: calls push, returns pop, exceptions push what they interrupt, returns from them pop it, and where tasks change
//! their lists do.

use std::collections::HashMap;

use super::decode::{Flow, Instruction};
use super::machine::State;
use crate::oracle::shadow::{Surprise, Waiting};

/// The offset of the interrupted program counter in the trap frame, which lies at the stack pointer when trap code calls the handler.
const PC_IN_FRAME: u64 = 60;
/// How far that is behind the interrupted stack pointer, and how large the frame is.
const PC_BEHIND_SP: u64 = 8;
const FRAME: u64 = 96;

/// How far the link register of an exception's mode is behind the interrupted program counter, for each vector. Manual: B1.8.3.
const BEHIND: [u64; 8] = [0, 4, 0, 4, 8, 0, 4, 4];
const UNDEFINED: u64 = 1;

/// What `task_switch` keeps on the stack of a task that does not run: ten registers.
const CONTEXT: u64 = 40;

/// Who waits, the outermost first, by what the machine did.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pub(super) waiting: Vec<Waiting>,
    /// Of the tasks that do not run, by the stack pointers with which they will go on.
    switched: HashMap<u64, Vec<Waiting>>,
}

/// Names in the image that the rules need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// Where exceptions are entered.
    pub(super) vectors: u64,
    /// The function in which trap code calls the handler.
    pub(super) entry: u64,
    /// Where a task goes on that the timer interrupted.
    pub(super) preempted: u64,
    /// The function that goes from one task's stack to another's.
    pub(super) switch: u64,
    /// Where every new task begins, by a return.
    pub(super) task_start: u64,
}

impl Shadow {
    /// Notes what an instruction has done, which is in this function.
    pub(super) fn step(
        &mut self,
        places: Places,
        function: Option<u64>,
        before: &State,
        instruction: Instruction,
        after: &State,
    ) -> Result<(), Surprise> {
        let vector = after.pc().wrapping_sub(places.vectors) / 4;
        if after.pc() >= places.vectors && vector < 8 {
            self.interrupted(vector, before, after);
            return Ok(());
        }
        let behind = before.pc() + instruction.length;
        let at = (after.pc(), after.sp());
        if before.is_user {
            // A program's own code is not the image's.
            return Ok(());
        }
        if after.is_user && self.waiting.last().is_none_or(|last| last.at() != at) {
            // A program begins: what the kernel has done on this stack is given up.
            self.waiting.clear();
            return Ok(());
        }
        match instruction.flow {
            // To the next instruction: how code learns where it is; or the condition did not hold.
            Flow::Call | Flow::Indirect if after.pc() == behind => {}
            Flow::Call => {
                if function == Some(places.entry)
                    && let Some(Waiting::Interrupted { slot, .. }) = self.waiting.last_mut()
                {
                    *slot = Some(before.sp() + PC_IN_FRAME);
                }
                self.waiting.push(Waiting::Caller {
                    pc: behind,
                    sp: before.sp(),
                });
            }
            Flow::Indirect => {
                if let Some(Waiting::Caller { pc, sp }) = self.waiting.last()
                    && (*pc, *sp) == at
                {
                    self.waiting.pop();
                }
            }
            Flow::TrapReturn => match self.waiting.pop() {
                Some(Waiting::Interrupted { pc, sp, .. }) if (pc, sp) == at => {}
                other => {
                    let expected = other.map(|waiting| waiting.at());
                    return Err(Surprise::Returned(before.pc(), at, expected));
                }
            },
            Flow::Other => {
                self.change_task(places, function, before, after);
            }
        }
        Ok(())
    }

    /// Whether this is the one instruction of `task_switch` that changes the stack pointer, but for those that push and pop the registers
    /// there. Then the list is that of the other task.
    pub(super) fn change_task(
        &mut self,
        places: Places,
        function: Option<u64>,
        before: &State,
        after: &State,
    ) -> bool {
        let distance = before.sp().abs_diff(after.sp());
        if function != Some(places.switch) || distance == 0 || distance == CONTEXT {
            return false;
        }
        let other = self.switched.remove(&after.sp()).unwrap_or_else(|| {
            // A new task, whose whole stack is what the first return to it takes.
            vec![Waiting::Caller {
                pc: places.task_start,
                sp: after.sp() + CONTEXT,
            }]
        });
        let left = std::mem::replace(&mut self.waiting, other);
        self.switched.insert(before.sp(), left);
        true
    }

    fn interrupted(&mut self, vector: u64, before: &State, after: &State) {
        let behind = match (vector, before.is_thumb) {
            (UNDEFINED, true) => 2,
            _ => BEHIND[vector as usize],
        };
        self.waiting.push(Waiting::Interrupted {
            pc: after.link().wrapping_sub(behind),
            sp: before.sp(),
            slot: None,
            is_stored: false,
        });
    }

    /// What handlers have written to the frames from which interrupted code will go on. One that has a task go on in `trap_preempted` has
    /// copied the frame to the task's own stack, right below the interrupted stack pointer; that begins with the copy's address as its own.
    pub(super) fn follow_handlers(&mut self, places: Places, word: impl Fn(u64) -> Option<u64>) {
        let mut at = 0;
        while let Some(waiting) = self.waiting.get_mut(at) {
            at += 1;
            let Waiting::Interrupted {
                pc,
                sp,
                slot: Some(slot),
                is_stored: is_moved,
            } = waiting
            else {
                continue;
            };
            let (Some(now), Some(stack)) = (word(*slot), word(*slot - PC_BEHIND_SP)) else {
                continue;
            };
            (*pc, *sp) = (now, stack);
            let (slot, end) = (stack + PC_IN_FRAME, stack + FRAME);
            let is_whole = word(slot - PC_BEHIND_SP) == Some(end);
            if now == places.preempted
                && is_whole
                && !*is_moved
                && let Some(pc) = word(slot)
            {
                *is_moved = true;
                let below = Waiting::Interrupted {
                    pc,
                    sp: end,
                    slot: Some(slot),
                    is_stored: true,
                };
                self.waiting.insert(at - 1, below);
                at += 1;
            }
        }
    }
}
