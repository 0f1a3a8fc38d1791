//! The shadow call stack: who has called whom, by what the machine did. Calls push, returns pop, exceptions push what they
//! interrupt, returns from them pop it, and a move of the stack pointer to another stack changes tasks, or goes on elsewhere.
//! No table has a hand in it.

use std::collections::HashMap;

use super::aarch64::ELR_OFFSET;
use super::image::{Image, Stack};
use super::state::{Flow, Instruction, interrupted};
use crate::hardware::Arch;
use crate::stub::{Level, Registers, State};

/// Bytes of the instruction by which a program of this kernel's calls it.
const fn system_call(arch: Arch) -> u64 {
    match arch {
        Arch::X86_64 => 2,
        Arch::Aarch64 => 4,
    }
}

/// The most bytes on the stack of a task that has not run: `Context` of the kernel's `switch.rs`.
const NEW_TASK: u64 = 96;

/// Somebody who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A function that has called.
    Caller {
        /// Where it goes on.
        pc: u64,
        /// With this stack pointer.
        sp: u64,
    },
    /// What an exception has interrupted.
    Interrupted {
        /// Where it goes on.
        pc: u64,
        /// With this stack pointer.
        sp: u64,
        /// The word in memory from which that will be taken: a handler may move it.
        slot: Option<u64>,
        /// Whether trap code has stored it there yet.
        is_stored: bool,
    },
    /// Code that nobody follows, up to its return.
    Unseen {
        /// Where it returns to.
        pc: u64,
        /// With this stack pointer.
        sp: u64,
    },
}

impl Waiting {
    /// Where it goes on, and with which stack pointer.
    #[must_use]
    pub const fn at(&self) -> (u64, u64) {
        match *self {
            Self::Caller { pc, sp }
            | Self::Interrupted { pc, sp, .. }
            | Self::Unseen { pc, sp } => (pc, sp),
        }
    }
}

/// What the machine did that no rule explains, or that a caller cannot have expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Surprise {
    /// It went from this instruction to this address.
    Went(u64, u64),
    /// It returned from this instruction to the first address with the first stack pointer, and the second was expected.
    Returned(u64, (u64, u64), Option<(u64, u64)>),
    /// An exception at this instruction says that it interrupted another one.
    Interrupted(u64, u64),
}

/// The call stacks of all tasks.
#[derive(Clone, Debug)]
pub struct Shadow {
    /// Of the one that runs on the CPU at hand, the outermost first.
    pub waiting: Vec<Waiting>,
    /// Of those that do not run, by the stack pointers with which they will go on.
    switched: HashMap<u64, (u32, Vec<Waiting>)>,
    /// How many tasks stopped when they were not followed.
    pub unknown: u32,
    /// The task that runs on the CPU at hand, and the last one that there was.
    task: u32,
    tasks: u32,
    /// The CPU at hand; and of each other CPU, the task that runs there and its call stack.
    cpu: usize,
    others: Vec<(u32, Vec<Waiting>)>,
}

/// Names in the image that the rules need.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Where every new task begins, by a return.
    pub task_start: u64,
    /// Where trap code has found room for its frame.
    pub trap_entry: u64,
    /// Where an interrupted task goes on, on AArch64.
    pub preempted: Option<u64>,
}

impl Shadow {
    /// Of so many CPUs, each of which begins with a task of its own.
    #[must_use]
    pub fn of(cpus: u32) -> Self {
        Self {
            waiting: Vec::new(),
            switched: HashMap::new(),
            unknown: 0,
            task: 0,
            tasks: cpus - 1,
            cpu: 0,
            others: (0..cpus).map(|task| (task, Vec::new())).collect(),
        }
    }

    /// Has this CPU at hand.
    pub fn turn_to(&mut self, cpu: usize) {
        let waiting = std::mem::take(&mut self.waiting);
        self.others[self.cpu] = (self.task, waiting);
        (self.task, self.waiting) = std::mem::take(&mut self.others[cpu]);
        self.cpu = cpu;
    }

    /// The machine has executed `instruction` with `before`, or has taken an exception there, and is in the state `after`. Its
    /// words are read by `word`.
    ///
    /// # Errors
    /// What cannot be explained.
    pub fn step(
        &mut self,
        image: &Image,
        places: &Places,
        before: &State,
        instruction: Option<Instruction>,
        after: &State,
        word: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<(), Surprise> {
        if before.level == Level::User {
            // A program's own code is not the image's. What it has called the kernel by is not known then, nor how long that is.
            return match image.is_vector(after.pc) {
                true => self.interrupt(
                    before,
                    Some(before.pc.wrapping_add(system_call(image.arch))),
                    after,
                    word,
                ),
                false if after.level == Level::User => Ok(()),
                false => Err(Surprise::Went(before.pc, after.pc)),
            };
        }
        let next = instruction.map(|instruction| before.pc.wrapping_add(instruction.length));
        let flow = instruction.map(|instruction| instruction.flow);
        if image.is_vector(after.pc) {
            return self.interrupt(
                before,
                next.filter(|_| matches!(flow, Some(Flow::Raises | Flow::Waits))),
                after,
                word,
            );
        }
        let went = Surprise::Went(before.pc, after.pc);
        let may = match flow.ok_or(went.clone())? {
            Flow::Next | Flow::Spins | Flow::Raises | Flow::Waits => next == Some(after.pc),
            Flow::Repeats => next == Some(after.pc) || before.pc == after.pc,
            Flow::Call(Some(target)) => after.pc == target,
            _ => true,
        };
        if !may {
            return Err(went);
        }
        match flow {
            Some(Flow::Call(_)) => {
                // x86-64 pushes the return address.
                let sp = before.sp;
                let pc = next.unwrap_or_default();
                self.waiting.push(Waiting::Caller { pc, sp });
                return Ok(());
            }
            Some(Flow::Return) => return self.pop(before, after, false),
            Some(Flow::TrapReturn) => return self.pop(before, after, true),
            _ => {}
        }
        self.move_stack(image, places, before, after);
        if Some(after.pc) == Some(places.trap_entry)
            && let Registers::Arm(_) = after.registers
            && let Some(Waiting::Interrupted { slot, .. }) = self.waiting.last_mut()
        {
            *slot = Some(after.sp + ELR_OFFSET);
        }
        Ok(())
    }

    /// What handlers have written to the places from which interrupted code will go on.
    pub fn follow_handlers(&mut self, places: &Places, word: &dyn Fn(u64) -> Option<u64>) {
        let mut index = self.waiting.len();
        while let Some(at) = index.checked_sub(1) {
            index = at;
            let Waiting::Interrupted {
                pc,
                sp,
                slot: Some(slot),
                is_stored,
            } = self.waiting[at]
            else {
                continue;
            };
            let Some(now) = word(slot) else { continue };
            let stored = |pc, sp, slot| Waiting::Interrupted {
                pc,
                sp,
                slot: Some(slot),
                is_stored: true,
            };
            if now == pc {
                self.waiting[at] = stored(pc, sp, slot);
            } else if !is_stored {
            } else if Some(now) == places.preempted
                && let Some(copy) = word(slot - 8)
            {
                // The handler has copied the frame to the task's stack, and returns to code that will return by the copy.
                self.waiting[at] = stored(pc, sp, copy + ELR_OFFSET);
                self.waiting.insert(at + 1, stored(now, copy, slot));
            } else {
                self.waiting[at] = stored(now, sp, slot);
            }
        }
    }

    /// An exception was taken: the machine is at a vector. The error is that it says it has interrupted something else.
    fn interrupt(
        &mut self,
        before: &State,
        behind: Option<u64>,
        after: &State,
        word: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<(), Surprise> {
        let (pc, sp) = self.taken(after, word);
        let is_there = pc == before.pc || Some(pc) == behind;
        match is_there && sp == before.sp {
            true => Ok(()),
            false => Err(Surprise::Interrupted(before.pc, pc)),
        }
    }

    /// Whom the exception has interrupted at whose vector the machine is waits from now on: where it goes on, and its stack
    /// pointer.
    pub fn taken(&mut self, at: &State, word: &dyn Fn(u64) -> Option<u64>) -> (u64, u64) {
        let (pc, sp, slot) = interrupted(at, word).unwrap_or_default();
        self.waiting.push(Waiting::Interrupted {
            pc,
            sp,
            slot,
            is_stored: slot.is_some(),
        });
        (pc, sp)
    }

    /// A return, to the innermost that waits, or it is no return.
    fn pop(&mut self, before: &State, after: &State, from_trap: bool) -> Result<(), Surprise> {
        if from_trap && after.level == Level::User && !self.returns_to(after) {
            // A program begins: what the kernel has done on this stack is given up.
            self.waiting.clear();
            return Ok(());
        }
        let innermost = self.waiting.last();
        let fits = innermost.is_some_and(|waiting| {
            matches!(waiting, Waiting::Interrupted { .. }) == from_trap
                && waiting.at() == (after.pc, after.sp)
        });
        let expected = innermost.map(Waiting::at);
        self.waiting.pop();
        match fits {
            true => Ok(()),
            false => Err(Surprise::Returned(
                before.pc,
                (after.pc, after.sp),
                expected,
            )),
        }
    }

    /// Whether the innermost that waits goes on so.
    fn returns_to(&self, after: &State) -> bool {
        let innermost = self.waiting.last();
        innermost.is_some_and(|waiting| waiting.at() == (after.pc, after.sp))
    }

    /// The stack pointer may have moved to another stack.
    pub fn move_stack(&mut self, image: &Image, places: &Places, before: &State, after: &State) {
        let (from, to) = (image.stack(before.sp), image.stack(after.sp));
        if from == to {
            return;
        }
        if let Some((task, other)) = self.switched.remove(&after.sp) {
            // Code that went on elsewhere for a while is back, or it is another task.
            if task != self.task {
                let left = std::mem::replace(&mut self.waiting, other);
                self.switched.insert(before.sp, (self.task, left));
                self.task = task;
            }
            return;
        }
        self.switched
            .insert(before.sp, (self.task, self.waiting.clone()));
        if let Some(Stack {
            range, cpu: None, ..
        }) = to
        {
            self.tasks += 1;
            self.task = self.tasks;
            self.waiting = vec![if range.end.wrapping_sub(after.sp) <= NEW_TASK {
                // The whole stack is what the first return to the task takes.
                Waiting::Caller {
                    pc: places.task_start,
                    sp: range.end,
                }
            } else {
                // The task stopped when it was not followed, so its callers are unknown. No code returns there, so the task is let run
                // until another one runs.
                self.unknown += 1;
                Waiting::Unseen { pc: 0, sp: 0 }
            }];
        }
    }
}
