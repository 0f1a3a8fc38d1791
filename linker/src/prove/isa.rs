//! The interface to an architecture: its instructions and its calling convention.

use std::fmt::Debug;

use super::compare::Condition;
use super::machine::Machine;
use super::table::Tables;
use super::value::{Register, Value};

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next one.
    Next,
    /// To an address if a condition holds, otherwise to the next one.
    Branch(u64, Condition),
    /// To a value.
    Jump(Value),
    /// To a value, and then to the next one, if the callee returns.
    Call(Value),
    /// To a value that is a return address, which is popped already.
    Return(Value),
    /// Back to the interrupted code. The stack pointer is where the processor finds its registers, if they are on the stack.
    InterruptReturn,
    /// Nowhere.
    Stop,
    /// To an exception handler, which may return to the next one.
    Trap,
}

/// What executing an instruction returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Bytes.
    pub length: u8,
    /// Where control goes next.
    pub flow: Flow,
}

/// An instruction set and its calling convention.
pub trait Isa: Sync {
    /// Bytes of a register, and of a saved one on the stack.
    const WORD: u8 = 8;
    /// DWARF's number of the stack pointer.
    const STACK_POINTER: Register;
    /// DWARF's number of the frame pointer.
    const FRAME_POINTER: Register;
    /// The number for the return address of a call: the link register, or a column of DWARF's that stands for the stack slot.
    const RETURN_ADDRESS: Register;
    /// The callee-saved registers: a bit for each, by number.
    const KEPT_BY_CALLS: u64;
    /// Registers beside stack and frame pointer that may be the base of a row's rule. [`unwind`] has their values in an
    /// interrupted frame only.
    const OTHER_BASES: &'static [Register];

    /// Callee-saved registers beside these, of which rows say where the caller's value is: those of [`unwind::Kept`].
    const FOLLOWED: &'static [Register] = &[];

    /// Rows that are not decided are withdrawn, too: there is another source of rows for such code.
    const IS_STRICT: bool = false;

    /// An interrupt pushes the interrupted code's registers on the stack.
    const KEEPS_INTERRUPTED_ON_STACK: bool;

    /// Bits of a pointer to code that select the instruction set, and are not part of the address.
    const INSTRUCTION_SET_BITS: u64 = 0;

    /// Pairs of a DWARF register number that is too large for [`Register`], and the number used instead.
    const RENUMBERED: &'static [(u32, Register)] = &[];

    /// A decoded instruction.
    type Instruction: Copy + Debug;

    /// Decodes `code`, which lies at an address: the first instruction, and those behind it up to one that may lead elsewhere. Adds
    /// none if the first one is not valid.
    fn decode(&self, code: &[u8], at: u64, decoded: &mut Vec<Self::Instruction>);

    /// Runs an instruction that lies at the machine's address. `None`: it is not valid.
    fn run(
        &self,
        instruction: &Self::Instruction,
        machine: &mut Machine,
        tables: &mut Tables,
    ) -> Option<Executed>;

    /// Decodes and runs the first instruction in `code`, which lies at the machine's address. `None`: no valid instruction.
    fn execute(&self, code: &[u8], machine: &mut Machine, tables: &mut Tables) -> Option<Executed> {
        let mut decoded = Vec::new();
        self.decode(code, machine.at, &mut decoded);
        self.run(decoded.first()?, machine, tables)
    }

    /// Whether the first instruction in `code`, which lies at the machine's address, is one that is executed under a condition and changes
    /// where control goes. With such a one control may also go on to the next instruction, as if it were not there.
    fn may_be_passed_over(&self, instruction: &Self::Instruction, machine: &Machine) -> bool {
        let _ = (instruction, machine);
        false
    }

    /// Changes the state before such an instruction to that behind it, where its condition does not hold.
    fn passed_over(&self, machine: &mut Machine) {
        let _ = machine;
    }

    /// Bytes of each instruction in `code`, which lies at an address, up to the first that is not valid.
    fn lengths(&self, code: &[u8], at: u64) -> impl Iterator<Item = u8>;

    /// Bytes of the first instruction in `code`, which lies at an address. `None`: no valid instruction.
    fn length(&self, code: &[u8], at: u64) -> Option<u8> {
        self.lengths(code, at).next()
    }

    /// Bytes of the error code on an interrupt handler's stack, if `code` starts with a prologue that only such handlers have.
    fn interrupt_handler(&self, code: &[u8]) -> Option<u8> {
        let _ = code;
        None
    }

    /// If the first instruction in `code`, which lies at an address, is a call or jump through a word in memory at a constant
    /// address, as through a GOT: the address of that word.
    fn called_through(&self, code: &[u8], at: u64) -> Option<u64> {
        let _ = (code, at);
        None
    }

    /// The first instruction in `code`, which lies at an address, disassembled.
    fn text(&self, code: &[u8], at: u64) -> String;

    /// Bytes of the first instruction in `code`, if it is padding.
    fn padding(&self, code: &[u8]) -> Option<u8>;
}
