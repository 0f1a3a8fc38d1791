//! The vector table. Manual: D1.3.1.5 "Exception vectors".

use unwind::sframe::{Base, Row, Rule};
use unwind::{Kept, aarch64};

use super::VBAR_EL1;
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

/// The interrupted code used the stack pointer of the exception level, which the exception goes on with.
const SAME_STACK: Row = row(Base::StackPointer);
/// The interrupted code used `SP_EL0`, at the same or at a lower level.
const OTHER_STACK: Row = row(Base::Register(aarch64::SP_EL0));

/// Four slots for each: the current level with `SP_EL0`, the current level with its own stack pointer, a lower level in AArch64, a lower level
/// in AArch32.
pub(super) static VECTORS: VectorTable = VectorTable {
    register: VBAR_EL1,
    slot: 0x80,
    rows: &[
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
        SAME_STACK,
        SAME_STACK,
        SAME_STACK,
        SAME_STACK,
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
        OTHER_STACK,
    ],
};
