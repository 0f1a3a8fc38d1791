//! x86-64 instructions. Manual: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2; AMD64 System V ABI, section 3.2.
//! Registers have the numbers of that ABI's table "DWARF Register Number Mapping".

mod constants;
mod effects;
mod system;
mod tables;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register as Iced};

use crate::architecture::{Architecture, Convention};
use crate::instruction::{Effect, Flow, IndirectJump, Instruction, Named, Operand, Register};
use crate::program::Program;

/// `rcx`, which counts for string instructions.
const RCX: Register = 2;
/// The frame pointer.
const RBP: Register = 6;
/// The stack pointer.
const RSP: Register = 7;
/// The column of the return address: what a return takes from the stack.
const RETURN: Register = 16;

static CONVENTION: Convention = Convention {
    stack_pointer: RSP,
    frame_pointer: RBP,
    link: None,
    return_address: RETURN,
    trap_returns: &[RETURN],
    // rbx, rbp, r12 to r15.
    kept: 1 << 3 | 1 << RBP | 0xf << 12,
    // rax.
    results: 1,
    lost: RETURN,
    word: 8,
    unit: 1,
    aligns_at_traps: true,
    stores_keep_flags: false,
    vectors: None,
};

/// x86-64 in 64-bit mode, with the System V ABI.
#[derive(Clone, Copy, Debug)]
pub struct X86;

/// The instruction at an address. `None`: none that is valid.
fn decode(program: &Program<'_>, at: u64) -> Option<iced_x86::Instruction> {
    let code = program.code(at)?;
    let code = &code[..code.len().min(15)];
    let instruction = Decoder::with_ip(64, code, at, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

impl Architecture for X86 {
    fn convention(&self) -> &'static Convention {
        &CONVENTION
    }

    fn decode(&self, program: &Program<'_>, at: u64) -> Option<Instruction> {
        let code = program.code(at)?;
        if let Some(target) = absolute_target(code) {
            return Some(Instruction {
                flow: Flow::Jump,
                target,
                ..Instruction::nothing(11)
            });
        }
        let instruction = decode(program, at)?;
        if is_truncated(&instruction, code) {
            return Some(Instruction::unlisted(instruction.len() as u8));
        }
        let is_near = matches!(
            instruction.op0_kind(),
            OpKind::NearBranch64 | OpKind::NearBranch32 | OpKind::NearBranch16
        );
        Some(Instruction {
            length: instruction.len() as u8,
            flow: if is_zeros(code) {
                Flow::Unknown
            } else {
                flow(&instruction)
            },
            target: if is_near {
                instruction.near_branch_target()
            } else {
                0
            },
            may_name: names(program, &instruction).next().is_some(),
            is_padding: is_padding(&instruction, code),
            is_not_equal: instruction.mnemonic() == Mnemonic::Jne,
            effects: stored(program, effects::effects(&instruction)),
            ..Instruction::nothing(0)
        })
    }

    fn named(&self, program: &Program<'_>, instructions: &[u64]) -> Vec<Named> {
        let named = |&at: &u64| {
            let instruction = decode(program, at)?;
            let addresses = names(program, &instruction);
            Some(addresses.map(move |(address, is_relative)| Named {
                at,
                address,
                is_relative,
            }))
        };
        instructions.iter().filter_map(named).flatten().collect()
    }

    fn constant(&self, program: &Program<'_>, register: Register, before: &[u64]) -> Option<u64> {
        constants::constant(program, register, before)
    }

    fn loaded_in_other_mode(&self, program: &Program<'_>, start: u64) -> Option<u64> {
        constants::loaded_in_32_bits(program, start)
    }

    fn indirect_jump(&self, program: &Program<'_>, at: u64, before: &[u64]) -> IndirectJump {
        tables::indirect_jump(program, at, before)
    }
}

/// The target of `jmpabs`, of the Advanced Performance Extensions (APX), which the decoder does not know.
fn absolute_target(code: &[u8]) -> Option<u64> {
    let target = code.strip_prefix(&[0xd5, 0x00, 0xa1])?;
    Some(u64::from_le_bytes(*target.first_chunk()?))
}

/// Whether an instruction is a near branch with the prefix for 16-bit operands. Processors from AMD truncate its target to 16 bits, and those
/// from Intel ignore the prefix.
fn is_truncated(instruction: &iced_x86::Instruction, code: &[u8]) -> bool {
    const OPERAND_SIZE: u8 = 0x66;
    const PREFIXES: [u8; 11] = [
        0x26,
        0x2e,
        0x36,
        0x3e,
        0x64,
        0x65,
        OPERAND_SIZE,
        0x67,
        0xf0,
        0xf2,
        0xf3,
    ];
    let is_branch = instruction.is_jmp_short_or_near()
        || instruction.is_jmp_near_indirect()
        || instruction.is_jcc_short_or_near()
        || instruction.is_call_near()
        || instruction.is_call_near_indirect()
        || instruction.is_loop()
        || instruction.is_loopcc()
        || instruction.is_jcx_short()
        || instruction.mnemonic() == Mnemonic::Ret;
    let count = code
        .iter()
        .take_while(|byte| PREFIXES.contains(byte))
        .count();
    // REX.W overrides the prefix.
    let is_wide = code.get(count).is_some_and(|byte| byte & 0xf8 == 0x48);
    is_branch && code[..count].contains(&OPERAND_SIZE) && !is_wide
}

/// Effects, with constants that are stored as the addresses of code that they may be.
fn stored(program: &Program<'_>, mut effects: Vec<Effect>) -> Vec<Effect> {
    for effect in &mut effects {
        if let Effect::Store { value, .. } = effect
            && let Operand::Number(number @ 1..) = *value
            && !program.is_relocatable
            && program.code(u64::from(number.cast_unsigned())).is_some()
        {
            *value = Operand::Address(u64::from(number.cast_unsigned()));
        }
    }
    effects
}

/// The addresses that an instruction names, and whether each is computed from the program counter.
fn names(
    program: &Program<'_>,
    one: &iced_x86::Instruction,
) -> impl Iterator<Item = (u64, bool)> + use<> {
    let is_lea = one.mnemonic() == Mnemonic::Lea;
    let is_relative = is_lea && one.is_ip_rel_memory_operand();
    // An absolute address, too.
    let has_place = one.memory_index() != Iced::None || is_lea && one.memory_base() == Iced::None;
    let has_displacement = has_place && one.memory_displ_size() >= 4;
    let is_constant = matches!(
        one.op1_kind(),
        OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64
    );
    let is_moved = is_constant && one.mnemonic() == Mnemonic::Mov;
    let is_pushed = one.mnemonic() == Mnemonic::Push
        && one.op_count() == 1
        && one.op0_kind() == OpKind::Immediate32to64;
    let is_fixed = !program.is_relocatable;
    let all = [
        is_relative.then(|| one.ip_rel_memory_address()),
        has_displacement.then(|| one.memory_displacement64()),
        (is_fixed && is_moved).then(|| one.immediate(1)),
        (is_fixed && is_pushed).then(|| one.immediate(0)),
    ];
    let all = all.into_iter().flatten();
    all.map(move |address| (address, is_relative))
}

fn flow(instruction: &iced_x86::Instruction) -> Flow {
    match (instruction.flow_control(), instruction.mnemonic()) {
        (_, Mnemonic::Int3) => Flow::Trap,
        (_, Mnemonic::Hlt | Mnemonic::Int | Mnemonic::Syscall | Mnemonic::Sysenter) => Flow::Halt,
        (FlowControl::Next | FlowControl::Interrupt, _) => Flow::Next,
        (FlowControl::UnconditionalBranch, _) => Flow::Jump,
        (FlowControl::ConditionalBranch, _) => Flow::Branch,
        (FlowControl::XbeginXabortXend, Mnemonic::Xbegin) => Flow::Branch,
        (FlowControl::XbeginXabortXend, _) => Flow::Next,
        (FlowControl::IndirectBranch, _)
            if instruction.is_jmp_far() || instruction.is_jmp_far_indirect() =>
        {
            Flow::Unknown
        }
        (FlowControl::IndirectBranch, _) => Flow::IndirectJump,
        (FlowControl::Call, _) if instruction.is_call_near() => Flow::Call,
        // `syscall`, `vmcall` and the like.
        (FlowControl::Call, _) if !instruction.is_call_far() => Flow::Next,
        (FlowControl::Call | FlowControl::IndirectCall, _) => Flow::IndirectCall,
        (FlowControl::Return, Mnemonic::Ret) => Flow::Return,
        (FlowControl::Return, _) => Flow::TrapReturn,
        (FlowControl::Exception, _) => Flow::Trap,
    }
}

/// What compilers and assemblers fill the space between functions with: `nop`, `int3`, zeros, moves to the same register.
fn is_padding(instruction: &iced_x86::Instruction, code: &[u8]) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Nop | Mnemonic::Int3 => true,
        Mnemonic::Xchg => instruction.op0_register() == instruction.op1_register(),
        Mnemonic::Lea => {
            instruction.memory_base() == instruction.op0_register()
                && instruction.memory_index() == Iced::None
                && instruction.memory_displacement64() == 0
        }
        _ => is_zeros(code),
    }
}

/// Whether code is no instruction but zeros: data or padding. As an instruction, two zero bytes add `al` to the byte at `rax`.
fn is_zeros(code: &[u8]) -> bool {
    code.starts_with(&[0, 0])
}

/// The number of the 64-bit register that a general register is a part of.
fn number(register: Iced) -> Register {
    const NUMBERS: [Register; 8] = [0, RCX, 1, 3, RSP, RBP, 4, 5];
    let place = register.full_register() as usize - Iced::RAX as usize;
    NUMBERS.get(place).copied().unwrap_or(place as Register)
}

/// Sets a register.
fn set(to: Register, value: Operand) -> Effect {
    Effect::Set(to, value)
}
