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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_change_the_flow_are_known() {
        for (bytes, flow) in [
            (&[0xe8, 2, 0, 0, 0][..], Flow::Call(Some(0x1007))),
            (&[0xff, 0xd0], Flow::Call(None)), // call rax
            (&[0xc3], Flow::Return),
            (&[0x48, 0xcb], Flow::FarReturn),  // retfq
            (&[0x48, 0xcf], Flow::TrapReturn), // iretq
            (&[0xeb, 0], Flow::Jump),
            (&[0x75, 0], Flow::Jump),       // jne
            (&[0xff, 0xe0], Flow::Jump),    // jmp rax
            (&[0xcc], Flow::Raises),        // int3
            (&[0x0f, 0x0b], Flow::Next),    // ud2, which does not return behind
            (&[0xf4], Flow::Waits),         // hlt
            (&[0xf3, 0xaa], Flow::Repeats), // rep stosb
            (&[0x90], Flow::Next),
        ] {
            let found = decode(bytes, 0x1000);
            let wanted = Instruction {
                flow,
                length: bytes.len() as u64,
            };
            assert_eq!(found, Some(wanted), "{bytes:x?}");
        }
        assert_eq!(decode(&[], 0x1000), None);
    }

    #[test]
    fn an_error_code_is_known_by_the_alignment() {
        // The stack pointer was 0x2000: five words are pushed, or six.
        let word = |address| (address >= 0x1fd8).then_some(address);
        let without = interrupted(0x1fd8, &word);
        assert_eq!(without, Some((0x1fd8, 0x1ff0, Some(0x1fd8))));
        let with = interrupted(0x1fd0, &word);
        assert_eq!(with, without);
    }
}
