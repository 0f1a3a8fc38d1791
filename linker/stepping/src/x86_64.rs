//! Classifies x86-64 instructions by their effect on the call stack.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use crate::machine::{Decoded, Kind};

/// Decodes the instruction at the start of `bytes`; `None` if it is invalid.
#[must_use]
pub fn decode(bytes: &[u8], pc: u64) -> Option<Decoded> {
    let instruction = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE).decode();
    let kind = match instruction.flow_control() {
        _ if matches!(
            instruction.mnemonic(),
            Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Int
        ) =>
        {
            Kind::System
        }
        FlowControl::Call | FlowControl::IndirectCall => Kind::Calls,
        FlowControl::Return => Kind::Returns,
        FlowControl::IndirectBranch => Kind::JumpsByPointer,
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => Kind::Jumps,
        FlowControl::Interrupt => Kind::Breakpoint,
        _ if loads_stack_pointer(&instruction) => Kind::LoadsStackPointer,
        _ => Kind::Other,
    };
    (instruction.code() != Code::INVALID).then_some(Decoded {
        kind,
        length: instruction.len() as u8,
    })
}

fn loads_stack_pointer(instruction: &Instruction) -> bool {
    let is_rsp = |operand: u32| {
        instruction.op_kind(operand) == OpKind::Register
            && instruction.op_register(operand) == Register::RSP
    };
    match instruction.mnemonic() {
        Mnemonic::Mov | Mnemonic::Pop | Mnemonic::Cmovae | Mnemonic::Cmove | Mnemonic::Cmovne => {
            is_rsp(0)
        }
        Mnemonic::Xchg => is_rsp(0) || is_rsp(1),
        Mnemonic::Lea => is_rsp(0) && instruction.memory_base() != Register::RSP,
        Mnemonic::Leave => true,
        _ => false,
    }
}
