//! Registers and instructions of x86-64.

use anyhow::{Context, Result};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Mnemonic};
use unwind::SavedRegister;
use unwind::x86_64;

use super::state::{Flow, Instruction, Registers, State};
use super::stub;

/// Where the kernel's trap code keeps registers that rows do not name: `TrapFrame::SAVED`.
pub(super) const SAVED: [SavedRegister; 3] = [
    SavedRegister::new(10, 7 * 8),
    SavedRegister::new(11, 6 * 8),
    SavedRegister::new(7, 22 * 8),
];

/// Bit of the flags: interrupts are not masked.
const INTERRUPTS: u8 = 1 << 1;

/// The state, by the stub's answer to `g`: the general registers in gdb's order, then the program counter and the flags.
pub(super) fn state(answers: &[Vec<u8>]) -> Result<State> {
    let bytes = stub::bytes(answers.first().context("no registers")?);
    let word = |index: usize| -> Result<u64> {
        let word = bytes.get(index * 8..).and_then(|rest| rest.first_chunk());
        Ok(u64::from_le_bytes(*word.context("too few registers")?))
    };
    let (pc, sp) = (word(16)?, word(7)?);
    let mut registers = x86_64::Registers::new(pc, sp, word(6)?);
    registers.r10 = Some(word(10)?);
    registers.r11 = Some(word(11)?);
    let flags = bytes.get(17 * 8 + 1).context("no flags")?;
    Ok(State {
        pc,
        sp,
        is_masked: flags & INTERRUPTS == 0,
        registers: Registers::X86(registers),
    })
}

pub(super) fn decode(bytes: &[u8], pc: u64) -> Option<Instruction> {
    let instruction = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE).decode();
    let flow = match instruction.flow_control() {
        FlowControl::Call => Flow::Call(Some(instruction.near_branch_target())),
        FlowControl::IndirectCall => Flow::Call(None),
        FlowControl::Return if instruction.mnemonic() == Mnemonic::Ret => Flow::Return,
        FlowControl::Return if instruction.mnemonic() == Mnemonic::Retf => Flow::FarReturn,
        FlowControl::Return => Flow::TrapReturn,
        FlowControl::UnconditionalBranch
        | FlowControl::ConditionalBranch
        | FlowControl::IndirectBranch
        | FlowControl::XbeginXabortXend => Flow::Jump,
        FlowControl::Interrupt => Flow::Raises,
        FlowControl::Next if instruction.mnemonic() == Mnemonic::Hlt => Flow::Waits,
        FlowControl::Next if instruction.has_rep_prefix() || instruction.has_repne_prefix() => {
            Flow::Repeats
        }
        FlowControl::Next | FlowControl::Exception => Flow::Next,
    };
    (instruction.code() != Code::INVALID).then_some(Instruction {
        flow,
        length: instruction.len() as u64,
    })
}

/// What an exception has interrupted, at its vector: the processor has aligned the stack pointer to 16 bytes, and has pushed five
/// words or, with an error code, six.
pub(super) fn interrupted(
    sp: u64,
    word: &dyn Fn(u64) -> Option<u64>,
) -> Option<(u64, u64, Option<u64>)> {
    let slot = sp + if sp.is_multiple_of(16) { 8 } else { 0 };
    Some((word(slot)?, word(slot + 24)?, Some(slot)))
}
