//! What the checker has to know of an architecture: its decoder, and its calling convention.

use std::ops::Range;

use unwind::sframe::{Base, Row, Rule};

use crate::instruction::{Effect, Flow, IndirectJump, Instruction, Named, Register};
use crate::program::Program;

/// An architecture's calling convention.
#[derive(Debug)]
pub struct Convention {
    /// The stack pointer.
    pub stack_pointer: Register,
    /// The frame pointer.
    pub frame_pointer: Register,
    /// The register in which a call leaves the return address. `None`: it is pushed.
    pub link: Option<Register>,
    /// Where the effects of a return put the address that it goes to: `link`, or a number of its own.
    pub return_address: Register,
    /// The registers from which a return from a trap takes the address that it goes to: the first that is a constant.
    pub trap_returns: &'static [Register],
    /// A bit for each register that a callee keeps, except the stack pointer.
    pub kept: u64,
    /// A bit for the register in which a callee returns an address.
    pub results: u64,
    /// A register that no walk has. A row counts from this register if a value is lost, and an indirect jump sets it to its target.
    pub lost: Register,
    /// Bytes of a register on the stack.
    pub word: i32,
    /// Bytes that instructions are aligned to.
    pub unit: u64,
    /// The processor aligns the stack before it saves what it interrupts: the stack pointer two words below the end.
    pub aligns_at_traps: bool,
    /// Instructions that only store to memory do not change the flags.
    pub stores_keep_flags: bool,
    /// The form of a vector table, if the processor enters code by one.
    pub vectors: Option<&'static VectorTable>,
}

/// A table of code that the processor enters at an exception: one slot for each kind of exception.
#[derive(Debug)]
pub struct VectorTable {
    /// The register with the table's address.
    pub register: Register,
    /// Bytes of a slot.
    pub slot: u64,
    /// Slots.
    pub count: u64,
    /// The slots of exceptions from code with the same stack pointer, by their numbers.
    pub same_stack: Range<u64>,
    /// The register with the interrupted stack pointer in the other slots.
    pub other_stack: Register,
    /// The register with the interrupted program counter.
    pub program_counter: Register,
    /// What is true at the first instruction of a slot: with the same stack pointer, and with another one.
    pub rows: [Row; 2],
}

impl VectorTable {
    /// Bytes that the address of a table is a multiple of.
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        self.slot * self.count
    }

    /// The addresses of the slots of a table, each with its row. If not `has_other_stack`, code has only one stack pointer.
    pub fn slots(
        &'static self,
        table: u64,
        has_other_stack: bool,
    ) -> impl Iterator<Item = (u64, &'static Row)> {
        let [same, other] = &self.rows;
        (0..self.count).map(move |number| {
            let is_same = !has_other_stack || self.same_stack.contains(&number);
            let row = if is_same { same } else { other };
            (table + number * self.slot, row)
        })
    }
}

impl Convention {
    /// Whether a callee keeps a register. The stack pointer is not among these.
    #[must_use]
    pub const fn keeps(&self, register: Register) -> bool {
        register < 64 && self.kept >> register & 1 != 0
    }

    /// Bytes that a call pushes.
    #[must_use]
    pub const fn pushed(&self) -> i32 {
        match self.link {
            Some(_) => 0,
            None => self.word,
        }
    }

    /// Whether a row is that of the first instruction behind a call.
    #[must_use]
    pub fn is_row_of_call(&self, row: &Row) -> bool {
        let offset = i64::from(self.pushed());
        let base = Base::StackPointer;
        row.cfa == Rule::Value { base, offset }
    }
}

/// Whether an instruction sets a register. One that is not listed sets all of them, and does not count.
#[must_use]
pub fn is_set_by(register: Register, flow: Flow, effects: &[Effect]) -> bool {
    let sets = |effect: &Effect| matches!(effect, Effect::Set(to, _) if *to == register);
    flow == Flow::Next && effects.iter().any(sets)
}

/// An architecture.
pub trait Architecture: std::fmt::Debug + Sync {
    /// Its calling convention.
    fn convention(&self) -> &'static Convention;

    /// The instruction at an address. `None`: there is none.
    fn decode(&self, program: &Program<'_>, at: u64) -> Option<Instruction>;

    /// The bytes at a constant distance from the instruction at an address that it loads: from one address to another.
    fn literal(&self, _: &Program<'_>, _: u64) -> Option<(u64, u64)> {
        None
    }

    /// The addresses of code and data that instructions name, which are ascending: those of one function that may name an address.
    fn named(&self, program: &Program<'_>, instructions: &[u64]) -> Vec<Named>;

    /// How the indirect jump at an address finds its target. `before` has the instructions before it, in the same block: the nearest first.
    fn indirect_jump(&self, program: &Program<'_>, at: u64, before: &[u64]) -> IndirectJump;

    /// The constant that a register contains after these instructions of one block: the nearest first. `None`: it is not a constant, or these
    /// instructions do not show it.
    fn constant(&self, program: &Program<'_>, register: Register, before: &[u64]) -> Option<u64>;

    /// The constant that the code at an address loads into the stack pointer before its first branch. A boot loader enters the code in a mode
    /// whose instructions are others: see [`Program::other_mode`].
    fn loaded_in_other_mode(&self, _: &Program<'_>, _: u64) -> Option<u64> {
        None
    }
}
