//! What x86-64 instructions change. Those that are not listed change each register and each place in memory that the decoder says they
//! write, to something unknown.

use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory,
    InstructionInfoOptions, MemorySize, Mnemonic, OpAccess, OpKind, Register as Iced,
};

use super::system::{self, anywhere};
use super::{RBP, RCX, RETURN, RSP, number, set};
use crate::instruction::{Effect, Operand, Register, Size};

/// What an instruction changes.
pub(super) fn effects(instruction: &Instruction) -> Vec<Effect> {
    listed(instruction).unwrap_or_else(|| others(instruction))
}

fn listed(instruction: &Instruction) -> Option<Vec<Effect>> {
    let to = general(instruction, 0);
    let wide = 8;
    Some(match instruction.mnemonic() {
        Mnemonic::Push if instruction.stack_pointer_increment() == -wide => vec![
            Effect::Store {
                base: RSP,
                offset: -wide,
                size: Size::Bytes(8),
                value: value(instruction, 0),
            },
            set(RSP, Operand::Sum(RSP, -wide)),
        ],
        Mnemonic::Pop if instruction.stack_pointer_increment() == wide => {
            let moved = set(RSP, Operand::Sum(RSP, wide));
            match to {
                Some(to) => vec![moved, set(to, Operand::Load(RSP, 0))],
                None => {
                    // An address that counts from the stack pointer counts from it behind the move.
                    let (base, offset) = place(instruction)?;
                    let offset = if base == RSP {
                        offset.checked_add(wide)?
                    } else {
                        offset
                    };
                    vec![
                        Effect::Store {
                            base,
                            offset,
                            size: Size::Bytes(8),
                            value: Operand::Load(RSP, 0),
                        },
                        moved,
                    ]
                }
            }
        }
        Mnemonic::Leave if instruction.code() == Code::Leaveq => vec![
            set(RSP, Operand::Sum(RBP, wide)),
            set(RBP, Operand::Load(RBP, 0)),
        ],
        Mnemonic::Mov => moves(instruction)?,
        Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => {
            vec![set(
                to?,
                Operand::Address(instruction.ip_rel_memory_address()),
            )]
        }
        Mnemonic::Lea => vec![set(to?, sum(instruction)?)],
        Mnemonic::Add | Mnemonic::Sub => {
            let to = to?;
            let subtracts = instruction.mnemonic() == Mnemonic::Sub;
            match (general(instruction, 1), number_of(instruction, 1)) {
                (Some(right), _) => vec![set(
                    to,
                    Operand::Registers {
                        left: to,
                        right,
                        shift: 0,
                        subtracts,
                    },
                )],
                (None, Some(count)) => {
                    let count = if subtracts {
                        count.checked_neg()?
                    } else {
                        count
                    };
                    vec![set(to, Operand::Sum(to, count))]
                }
                _ => return None,
            }
        }
        // Compilers harden returns by such an instruction on the return address.
        Mnemonic::Or
        | Mnemonic::Xor
        | Mnemonic::Shl
        | Mnemonic::Shr
        | Mnemonic::Sar
        | Mnemonic::Rol
        | Mnemonic::Ror
            if changes_nothing(instruction) =>
        {
            Vec::new()
        }
        Mnemonic::Inc => vec![set(to?, Operand::Sum(to?, 1))],
        Mnemonic::Dec => vec![set(to?, Operand::Sum(to?, -1))],
        Mnemonic::Xchg => {
            let other = general(instruction, 1)?;
            vec![
                set(to?, Operand::Sum(other, 0)),
                set(other, Operand::Sum(to?, 0)),
            ]
        }
        Mnemonic::Xor if zeroes(instruction) => {
            vec![set(number(instruction.op0_register()), Operand::Number(0))]
        }
        Mnemonic::Cmp => match (to, general(instruction, 1)) {
            (Some(RSP), Some(other)) => vec![Effect::ComparesStackPointer(other)],
            _ => Vec::new(),
        },
        Mnemonic::Ret | Mnemonic::Retf => vec![
            set(RETURN, Operand::Load(RSP, 0)),
            set(
                RSP,
                Operand::Sum(RSP, instruction.stack_pointer_increment()),
            ),
        ],
        Mnemonic::Iretq => vec![
            set(RETURN, Operand::Load(RSP, 0)),
            set(RSP, Operand::Load(RSP, 3 * wide)),
        ],
        // A far call pushes two words, so that a function is not entered as by a near call.
        Mnemonic::Call if instruction.is_call_far_indirect() => {
            vec![set(RETURN, Operand::Moved)]
        }
        // What the call itself does is an edge.
        Mnemonic::Call => Vec::new(),
        // Such a jump may lead back to the caller, as a return does.
        Mnemonic::Jmp if instruction.is_jmp_near_indirect() => {
            vec![set(RETURN, value(instruction, 0))]
        }
        Mnemonic::Test | Mnemonic::Nop => Vec::new(),
        // It writes the cache line that contains the address, also below the address.
        Mnemonic::Clzero => vec![anywhere()],
        _ => return system::effects(instruction),
    })
}

/// The address that `lea` computes.
fn sum(instruction: &Instruction) -> Option<Operand> {
    if let Some((base, offset)) = place(instruction) {
        return Some(Operand::Sum(base, offset));
    }
    let (left, right) = (instruction.memory_base(), instruction.memory_index());
    let is_sum = left.is_gpr64() && right.is_gpr64() && instruction.memory_displacement64() == 0;
    is_sum.then(|| Operand::Registers {
        left: number(left),
        right: number(right),
        shift: instruction.memory_index_scale().trailing_zeros() as u8,
        subtracts: false,
    })
}

fn moves(instruction: &Instruction) -> Option<Vec<Effect>> {
    if let Some(to) = general(instruction, 0) {
        return Some(vec![set(to, value(instruction, 1))]);
    }
    if matches!(instruction.code(), Code::Mov_r8_imm8)
        && (Iced::AL..=Iced::BL).contains(&instruction.op0_register())
    {
        let to = number(instruction.op0_register());
        return Some(vec![set(
            to,
            Operand::LowByte(to, instruction.immediate8()),
        )]);
    }
    if instruction.op0_kind() == OpKind::Register && instruction.op0_register().is_gpr32() {
        // The upper half becomes 0.
        let count = instruction.op1_kind() == OpKind::Immediate32;
        let number_of = i32::try_from(instruction.immediate32())
            .ok()
            .filter(|_| count)?;
        return Some(vec![set(
            number(instruction.op0_register()),
            Operand::Number(number_of),
        )]);
    }
    let is_word = instruction.op0_kind() == OpKind::Memory && instruction.memory_size().size() == 8;
    let (base, offset) = place(instruction).filter(|_| is_word)?;
    Some(vec![Effect::Store {
        base,
        offset,
        size: Size::Bytes(8),
        value: value(instruction, 1),
    }])
}

/// The value of an operand of 64 bits.
fn value(instruction: &Instruction, operand: u32) -> Operand {
    if let Some(register) = general(instruction, operand) {
        return Operand::Sum(register, 0);
    }
    match instruction.op_kind(operand) {
        OpKind::Memory if instruction.memory_size().size() == 8 => {
            place(instruction).map_or(Operand::Word, |(base, offset)| Operand::Load(base, offset))
        }
        OpKind::Memory | OpKind::Register => Operand::Unknown,
        _ => match number_of(instruction, operand) {
            Some(number) => Operand::Number(number),
            None => Operand::Address(instruction.immediate(operand)),
        },
    }
}

/// A constant that fits.
fn number_of(instruction: &Instruction, operand: u32) -> Option<i32> {
    let is_constant = matches!(
        instruction.op_kind(operand),
        OpKind::Immediate8to64 | OpKind::Immediate32to64 | OpKind::Immediate64
    );
    is_constant
        .then(|| i32::try_from(instruction.immediate(operand).cast_signed()).ok())
        .flatten()
}

/// An operand that is a register of 64 bits.
fn general(instruction: &Instruction, operand: u32) -> Option<Register> {
    let is_register = instruction.op_kind(operand) == OpKind::Register;
    let register = instruction.op_register(operand);
    (is_register && register.is_gpr64()).then(|| number(register))
}

/// The address of the memory operand, if it is a register plus a constant.
fn place(instruction: &Instruction) -> Option<(Register, i32)> {
    let base = instruction.memory_base();
    let is_simple = base.is_gpr64()
        && instruction.memory_index() == Iced::None
        && !matches!(instruction.memory_segment(), Iced::FS | Iced::GS);
    let offset = i32::try_from(instruction.memory_displacement64().cast_signed()).ok()?;
    is_simple.then(|| (number(base), offset))
}

/// Whether an instruction that writes to memory leaves it as it was.
fn changes_nothing(instruction: &Instruction) -> bool {
    let is_constant = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8
            | OpKind::Immediate8to64
            | OpKind::Immediate8to32
            | OpKind::Immediate32to64
            | OpKind::Immediate32
    );
    instruction.op0_kind() == OpKind::Memory && is_constant && instruction.immediate(1) == 0
}

fn zeroes(instruction: &Instruction) -> bool {
    let is_register = |operand| instruction.op_kind(operand) == OpKind::Register;
    let register = instruction.op0_register();
    let is_wide = register.is_gpr64() || register.is_gpr32();
    is_register(0) && is_register(1) && is_wide && register == instruction.op1_register()
}

/// What the decoder says of an instruction without a rule of its own.
fn others(instruction: &Instruction) -> Vec<Effect> {
    let mut effects = Vec::new();
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info_options(instruction, InstructionInfoOptions::NONE);
    let writes = |access| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    let is_repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    // A bit of a string of bits that a register counts.
    let is_bit = matches!(
        instruction.mnemonic(),
        Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    ) && instruction.op1_kind() == OpKind::Register;
    for memory in info
        .used_memory()
        .iter()
        .filter(|memory| writes(memory.access()))
    {
        // Of a repeated instruction the decoder reports no size.
        let size = match instruction.is_string_instruction() {
            true => instruction.memory_size(),
            false => memory.memory_size(),
        };
        let bytes = match (size, size.size()) {
            (MemorySize::Unknown, _) | (_, 0) => None,
            (_, bytes) => Some(bytes as u32),
        };
        let is_indexed =
            !instruction.is_string_instruction() && memory.index() != Iced::None || is_bit;
        // An index alone, an address of 32 bits, a constant, or an address that counts from another segment.
        let is_anywhere = is_indexed
            || !memory.base().is_gpr64()
            || matches!(memory.segment(), Iced::FS | Iced::GS);
        if is_anywhere {
            effects.push(anywhere());
            continue;
        }
        let size = match bytes {
            Some(bytes) if instruction.is_string_instruction() && is_repeated => {
                Size::Counted(RCX, bytes)
            }
            Some(bytes) => Size::Bytes(bytes),
            None => Size::Unknown,
        };
        let offset = i32::try_from(memory.displacement().cast_signed()).unwrap_or(0);
        effects.push(Effect::Store {
            base: number(memory.base()),
            offset,
            size,
            value: Operand::Unknown,
        });
    }
    if instruction.flow_control() == FlowControl::Return {
        effects.push(set(RETURN, Operand::Unknown));
    }
    let moved = instruction.stack_pointer_increment();
    let value = computed(instruction, info);
    for register in info
        .used_registers()
        .iter()
        .filter(|register| writes(register.access()))
    {
        if !register.register().is_gpr() {
            continue;
        }
        let to = number(register.register());
        effects.push(match to {
            // `pop %sp` loads the lower half.
            RSP if instruction.op0_register() == Iced::SP => set(RSP, Operand::Moved),
            RSP if moved != 0 => set(RSP, Operand::Sum(RSP, moved)),
            RSP if instruction.mnemonic() == Mnemonic::Mov => set(RSP, Operand::Unknown),
            RSP => set(RSP, Operand::Moved),
            to => set(to, value),
        });
    }
    effects
}

/// What an instruction without a rule of its own writes to registers, by those that it reads.
fn computed(instruction: &Instruction, info: &InstructionInfo) -> Operand {
    let is_operand = |register| {
        (0..instruction.op_count()).any(|operand| {
            instruction.op_kind(operand) == OpKind::Register
                && instruction.op_register(operand) == register
        })
    };
    // An address is no part of the value that is loaded from it.
    let is_address = |register| {
        let memory = [instruction.memory_base(), instruction.memory_index()];
        instruction.mnemonic() != Mnemonic::Lea
            && memory.contains(&register)
            && !is_operand(register)
    };
    let mut from = 0;
    for used in info.used_registers() {
        let register = used.register();
        if used.access() == OpAccess::Write || is_address(register) {
            continue;
        }
        if register.is_gpr() {
            from |= 1 << number(register);
        } else if register.is_vector_register() || register.is_mm() || register.is_k() {
            return Operand::Moved;
        }
    }
    Operand::Computed(from)
}
