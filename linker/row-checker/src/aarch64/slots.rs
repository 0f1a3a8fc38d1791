//! The vector table. Manual: D1.3.1.5 "Exception vectors".

use unwind::sframe::{Base, Row, Rule};
use unwind::{Kept, aarch64};

use super::{ELR_EL1, SP_EL0, VBAR_EL1};
use crate::architecture::VectorTable;

/// Before the first instruction of a slot, the interrupted stack pointer is in a register, and the interrupted program counter in `ELR_EL1`.
const fn row(stack_pointer: Base) -> Row {
    Row {
        offset: 0,
        cfa: Rule::Value {
            base: stack_pointer,
            offset: 0,
        },
        return_address: Rule::Value {
            base: Base::Register(aarch64::ELR),
            offset: 0,
        },
        frame_pointer: Rule::Same,
        signed: false,
        kept: Kept::ALL,
    }
}

/// The slots are four each for exceptions from the current level with `SP_EL0`, from the current level with its own stack pointer, from a
/// lower level in AArch64, and from a lower level in AArch32.
pub(super) static VECTORS: VectorTable = VectorTable {
    register: VBAR_EL1,
    slot: 0x80,
    count: 16,
    same_stack: 4..8,
    other_stack: SP_EL0,
    program_counter: ELR_EL1,
    rows: [
        row(Base::StackPointer),
        row(Base::Register(aarch64::SP_EL0)),
    ],
};
