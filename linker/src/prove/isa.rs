//! What an instruction does, for every architecture alike.

use super::compare::Condition;
use super::machine::Machine;
use super::table::Tables;
use super::value::{Register, Value};

/// Where an instruction leads.
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
    /// To a value that is a return address. The stack pointer is the caller's already.
    Return(Value),
    /// Back to what was interrupted. The stack pointer is where the processor finds that.
    InterruptReturn,
    /// Nowhere.
    Stop,
    /// Nowhere, unless a handler goes on behind it.
    Trap,
}

/// An instruction that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Bytes.
    pub length: u8,
    /// Where it leads.
    pub flow: Flow,
}

/// An instruction set and its calling convention.
pub trait Isa: Sync {
    /// DWARF's number of the stack pointer.
    const STACK_POINTER: Register;
    /// DWARF's number of the frame pointer.
    const FRAME_POINTER: Register;
    /// The number under which a return address is known that a call has left behind.
    const RETURN_ADDRESS: Register;
    /// A bit for each register, by number, that a callee leaves as it was.
    const KEPT_BY_CALLS: u64;
    /// Registers from which a row may count beside stack and frame pointer, as [`unwind`] knows them in an interrupted
    /// frame.
    const OTHER_BASES: &'static [Register];

    /// An interruption leaves what it interrupted on the stack.
    const KEEPS_INTERRUPTED_ON_STACK: bool;

    /// DWARF's numbers of registers that are too large to be used here, with the numbers used instead.
    const RENUMBERED: &'static [(u32, Register)] = &[];

    /// Executes the first instruction in `code`, which lies at the machine's address. `None`: it is none.
    fn execute(&self, code: &[u8], machine: &mut Machine, tables: &mut Tables) -> Option<Executed>;

    /// Bytes of the first instruction in `code`. `None`: it is none.
    fn length(&self, code: &[u8]) -> Option<u8>;

    /// Bytes of error code on the stack of a handler of interrupts, if code begins as such handlers do and as nothing else does.
    fn interrupt_handler(&self, code: &[u8]) -> Option<u8> {
        let _ = code;
        None
    }

    /// The address of the word from which the first instruction in `code`, which lies at an address, takes where it calls or jumps
    /// to.
    fn called_through(&self, code: &[u8], at: u64) -> Option<u64> {
        let _ = (code, at);
        None
    }

    /// The first instruction in `code`, which lies at an address, as assemblers write it.
    fn text(&self, code: &[u8], at: u64) -> String;

    /// Bytes of the instruction at the start of `code` if it only fills room.
    fn padding(&self, code: &[u8]) -> Option<u8>;
}
