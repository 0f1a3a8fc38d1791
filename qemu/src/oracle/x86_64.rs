//! Instructions of x86-64.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Mnemonic};

use super::state::{Flow, Instruction};

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
        FlowControl::Next if instruction.mnemonic() == Mnemonic::Pause => Flow::Spins,
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
            (&[0xf3, 0x90], Flow::Spins),   // pause
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
