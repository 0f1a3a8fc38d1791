//! The call stack that a program really has: calls add an entry, and a stack pointer above an entry removes the entry.
//!
//! No table takes part. Where the machine's steps allow two readings, an entry is optional: a call to a label inside the same function that
//! may never return, and a return address that was taken from the stack into a register.

use crate::machine::{Decoded, Kind, Memory, State, Step};
use crate::stacks::Stacks;

/// Registers that functions of 32-bit ARM keep for their callers, besides the frame pointer.
pub const KEPT: usize = 7;

/// A function that waits for its callee, or interrupted code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Stack pointer before the call.
    pub sp: u64,
    /// Address where the waiting function continues.
    pub pc: u64,
    /// Frame pointer of the waiting function.
    pub fp: u64,
    /// `r4` to `r10` of the waiting function, on 32-bit ARM.
    pub kept: [u64; KEPT],
    /// Whether the list may leave the entry out.
    pub is_optional: bool,
    /// Whether a signal interrupted the function, instead of a call.
    pub is_interrupted: bool,
}

/// Why the truth is not known at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    /// The stack was not followed from its start.
    Stack,
    /// The stack pointer was set to an outer frame, and the jump there has not happened yet.
    Leaving,
}

/// Questions about the program's code that no table of rows answers.
pub trait Places {
    /// Whether both addresses are in one function, and the second is not its start.
    fn is_local(&self, from: u64, to: u64) -> bool;
    /// Whether an address is in code.
    fn is_code(&self, address: u64) -> bool;
}

/// The call stack.
#[derive(Clone, Debug)]
pub struct Truth {
    /// All stacks.
    pub stacks: Stacks,
    /// An entry whose return address was taken from the stack, until the next return or jump by pointer.
    lingering: Option<Entry>,
    is_leaving: bool,
    /// Whether calls store the return address on the stack.
    pushes: bool,
}

impl Truth {
    /// The call stack of a program before its first instruction.
    #[must_use]
    pub fn new(sp: u64, pushes: bool) -> Self {
        Self {
            stacks: Stacks::new(sp),
            lingering: None,
            is_leaving: false,
            pushes,
        }
    }

    /// The entries, innermost first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.lingering
            .iter()
            .chain(self.stacks.current.entries.iter().rev())
    }

    /// Why the innermost caller is not known, if so.
    #[must_use]
    pub fn unknown(&self) -> Option<Unknown> {
        let stack = &self.stacks.current;
        match (self.is_leaving, stack.entries.is_empty() && !stack.is_whole) {
            (true, _) => Some(Unknown::Leaving),
            (_, true) => Some(Unknown::Stack),
            _ => None,
        }
    }

    /// The stack pointer at which the stack in use begins: that of the outermost function at its call.
    #[must_use]
    pub fn base(&self) -> Option<u64> {
        self.stacks.current.entries.first().map(|entry| entry.sp)
    }

    /// Notes that the machine executed `instruction` in the state `before`, and is in the state `after`.
    pub fn step(
        &mut self,
        before: &State,
        instruction: Option<Decoded>,
        step: &Step,
        after: &State,
        memory: &impl Memory,
        places: &impl Places,
    ) {
        if let Step::Handler(_) = step {
            self.interrupt(before, after, memory);
            return;
        }
        let Some(Decoded { kind, length }) = instruction else {
            return;
        };
        let leaves = matches!(kind, Kind::Returns | Kind::JumpsByPointer);
        let was_leaving = self.is_leaving;
        if leaves || kind == Kind::Calls {
            self.lingering = None;
            self.is_leaving = false;
        }
        if before.sp != after.sp {
            match kind {
                Kind::LoadsStackPointer | Kind::System | Kind::Returns => {
                    if self.stacks.load(before.sp, after.sp) {
                        self.is_leaving = false;
                    }
                }
                _ => self.stacks.extend(after.sp),
            }
            self.pop(kind, after);
        }
        let next = before.pc.wrapping_add(length.into());
        if !self.pushes && kind != Kind::Calls && after.pc != next {
            self.arrive(after, was_leaving && leaves);
        }
        match kind {
            // A call of the next instruction reads the program counter.
            Kind::Calls if after.pc != next => self.stacks.current.entries.push(Entry {
                sp: before.sp,
                pc: next,
                fp: before.fp,
                kept: kept(before),
                is_optional: places.is_local(before.pc, after.pc),
                is_interrupted: false,
            }),
            Kind::Jumps | Kind::JumpsByPointer if self.pushes && after.pc != next => {
                self.emulated_call(before, after, memory, places)
            }
            _ => {}
        }
    }

    /// Notes that a call has returned that was not followed.
    pub fn returned(&mut self, before: &State, after: &State) {
        self.stacks.load(before.sp, after.sp);
        self.pop(Kind::Returns, after);
    }

    /// Forgets all callers on the stack in use.
    pub fn lose(&mut self) {
        self.stacks.current.entries.clear();
        self.stacks.current.is_whole = false;
    }

    /// Removes the entries that the stack pointer has passed.
    fn pop(&mut self, kind: Kind, after: &State) {
        let pushes = self.pushes;
        let waits = |entry: &Entry| entry.sp > after.sp || !pushes && entry.sp == after.sp;
        let entries = &mut self.stacks.current.entries;
        let kept = entries.iter().rposition(waits).map_or(0, |index| index + 1);
        if !pushes && kind == Kind::LoadsStackPointer {
            self.is_leaving |= entries.last().is_some_and(|entry| entry.sp <= after.sp);
        }
        let passed = entries.split_off(kept);
        let is_whole_step = matches!(
            kind,
            Kind::Returns | Kind::JumpsByPointer | Kind::System | Kind::Calls
        );
        if is_whole_step || passed.is_empty() {
            return;
        }
        match passed[..] {
            [one] if kind != Kind::LoadsStackPointer && self.pushes => {
                if after.registers.contains(&one.pc) {
                    self.lingering = Some(Entry {
                        is_optional: true,
                        ..one
                    });
                }
            }
            _ => self.is_leaving = true,
        }
    }

    /// The program has jumped. Where calls leave the return address in a register, that may be a return, or the end of a jump to an outer
    /// frame.
    fn arrive(&mut self, after: &State, is_outward: bool) {
        let entries = &mut self.stacks.current.entries;
        let returns = |entry: &Entry| entry.sp == after.sp && entry.pc == after.pc;
        match entries.iter().rposition(returns) {
            Some(index) => entries.truncate(index),
            None if is_outward => entries.retain(|entry| entry.sp > after.sp),
            None => {}
        }
    }

    /// A jump out of the function with an address of code on top of the stack, which was pushed: perhaps a call.
    fn emulated_call(
        &mut self,
        before: &State,
        after: &State,
        memory: &impl Memory,
        places: &impl Places,
    ) {
        let sp = after.sp.wrapping_add(8);
        let innermost = self.stacks.current.entries.last();
        if innermost.is_some_and(|entry| entry.sp <= sp) || places.is_local(before.pc, after.pc) {
            return;
        }
        if let Some(pc) = memory.word(after.sp)
            && places.is_code(pc)
        {
            let entry = Entry {
                sp,
                pc,
                fp: after.fp,
                kept: kept(after),
                is_optional: true,
                is_interrupted: false,
            };
            self.stacks.current.entries.push(entry);
        }
    }

    /// The program is at the first instruction of a signal handler.
    fn interrupt(&mut self, before: &State, after: &State, memory: &impl Memory) {
        self.stacks.load(before.sp, after.sp);
        let entries = &mut self.stacks.current.entries;
        entries.push(Entry {
            sp: before.sp,
            pc: before.pc,
            fp: before.fp,
            kept: kept(before),
            is_optional: false,
            is_interrupted: true,
        });
        if self.pushes
            && let Some(pc) = memory.word(after.sp)
        {
            entries.push(Entry {
                sp: after.sp + 8,
                pc,
                fp: after.fp,
                kept: kept(after),
                is_optional: false,
                is_interrupted: false,
            });
        }
    }
}

fn kept(state: &State) -> [u64; KEPT] {
    state.registers[4..]
        .first_chunk()
        .copied()
        .unwrap_or_default()
}
