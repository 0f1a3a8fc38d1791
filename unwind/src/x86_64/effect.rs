//! x86-64: what an instruction does to a frame. Source: "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2,
//! appendix A "Opcode Map", and the instructions' own pages.
//!
//! Only `rsp` and `rbp` are followed. What writes one of them in a way that is not listed loses it.

use super::length::{Instruction, decode};
use crate::code::{Change, Effect, Flow, Place};

const RSP: u8 = 4;
const RBP: u8 = 5;

/// `lea rsp, [rip + …]`, without its distance.
const LEA_RSP: [u8; 3] = [0x48, 0x8d, 0x25];

pub(super) fn effect(bytes: &[u8], at: u64) -> Option<Effect> {
    let instruction = decode(bytes)?;
    let mut effect = Effect::none(instruction.length);
    match instruction.map {
        0 => one_byte(&instruction, at, &mut effect)?,
        1 => two_bytes(&instruction, at, &mut effect),
        // CRC32, MOVBE, PEXTR, RORX, BLSR and so on, which write a general register, some of them either operand. Others write vectors.
        _ if matches!(instruction.opcode, 0x14..=0x17 | 0xf0..=0xf7) => {
            lose(instruction.register, &mut effect);
            lose_operand(&instruction, &mut effect);
        }
        _ => {}
    }
    if bytes.starts_with(&LEA_RSP) {
        effect.stack_pointer = Change::Replaced;
    }
    Some(effect)
}

/// Marks `rsp` or `rbp` as one with another value.
fn lose(register: u8, effect: &mut Effect) {
    match register {
        RSP => effect.stack_pointer = Change::Lost,
        RBP => effect.frame_pointer = Change::Lost,
        _ => {}
    }
}

/// The same for the operand that is a register or memory.
fn lose_operand(instruction: &Instruction, effect: &mut Effect) {
    if let Some(register) = instruction.operand {
        lose(register, effect);
    }
}

/// Marks `rsp` or `rbp` as one with a value that is moved there.
fn replace(register: u8, effect: &mut Effect) {
    match register {
        RSP => effect.stack_pointer = Change::Replaced,
        _ => lose(register, effect),
    }
}

fn one_byte(instruction: &Instruction, at: u64, effect: &mut Effect) -> Option<()> {
    let Instruction {
        opcode,
        register,
        operand,
        wide,
        ..
    } = *instruction;
    let low = opcode & 7 | instruction.extension;
    match opcode {
        // The forms of eight arithmetic operations; the last one compares.
        0x00..=0x3f => match opcode & 7 {
            _ if opcode & 0x38 == 0x38 => {}
            0 | 1 if instruction.whole() => lose_operand(instruction, effect),
            2 | 3 if instruction.whole() => lose(register, effect),
            _ => {}
        },
        0x50..=0x57 => push(Some(low), instruction, effect)?,
        0x58..=0x5f => pop(Some(low), instruction, effect)?,
        0x63 | 0x69 | 0x6b => lose(register, effect),
        0x68 | 0x6a => push(None, instruction, effect)?,
        0x70..=0x7f | 0xe0..=0xe3 => effect.flow = Flow::Branch(instruction.target(at)),
        0x80 | 0x81 | 0x83 => match (register & 7, operand) {
            (7, _) => {}
            (0, Some(RSP)) if wide => effect.before = instruction.immediate,
            (5, Some(RSP)) if wide => effect.before = instruction.immediate.wrapping_neg(),
            _ if instruction.whole() => lose_operand(instruction, effect),
            _ => {}
        },
        0x86 | 0x87 => {
            lose(register, effect);
            lose_operand(instruction, effect);
        }
        0x89 => match (operand, register) {
            (Some(RBP), RSP) if wide => {
                effect.frame_pointer = Change::Address(Place::in_stack(0));
            }
            (Some(RSP), RBP) if wide => {
                effect.stack_pointer = Change::Address(Place::in_frame(0));
            }
            (None, RBP) if wide => effect.saves_frame_pointer = instruction.place,
            (Some(to), _) => replace(to, effect),
            (None, _) => {}
        },
        0x8b => match (register, operand, instruction.place) {
            (RBP, Some(RSP), _) if wide => {
                effect.frame_pointer = Change::Address(Place::in_stack(0));
            }
            (RSP, Some(RBP), _) if wide => {
                effect.stack_pointer = Change::Address(Place::in_frame(0));
            }
            (RBP, None, Some(place)) if wide => effect.frame_pointer = Change::Loaded(place),
            (RSP, None, Some(_)) => effect.stack_pointer = Change::Lost,
            _ => replace(register, effect),
        },
        0x8d => {
            let change = match instruction.place {
                Some(place) if wide => Change::Address(place),
                _ => Change::Lost,
            };
            match register {
                RSP => effect.stack_pointer = change,
                RBP => effect.frame_pointer = change,
                _ => {}
            }
        }
        0x8a if instruction.whole() => lose(register, effect),
        0x8f => pop(operand, instruction, effect)?,
        0x90..=0x97 => lose(low, effect),
        0x9c => push(None, instruction, effect)?,
        0x9d => pop(None, instruction, effect)?,
        0xb0..=0xb7 if instruction.whole() => lose(low, effect),
        0xb8..=0xbf => replace(low, effect),
        0xc7 => {
            if let Some(to) = instruction.operand {
                replace(to, effect);
            }
        }
        0x88 | 0x8c | 0xc0 | 0xc1 | 0xc6 | 0xd0..=0xd3 if instruction.whole() => {
            lose_operand(instruction, effect);
        }
        // RET, IRET
        0xc2 | 0xc3 | 0xca | 0xcb | 0xcf => effect.flow = Flow::End,
        // ENTER
        0xc8 => return None,
        // LEAVE
        0xc9 => {
            effect.stack_pointer = Change::Address(Place::in_frame(0));
            effect.frame_pointer = Change::Loaded(Place::in_frame(0));
            effect.after = 8;
        }
        0xe8 => effect.flow = Flow::Call,
        0xe9 => effect.flow = Flow::Jump(instruction.target(at)),
        0xeb => effect.flow = Flow::Jump(instruction.target(at)),
        // NOT, NEG
        0xf6 | 0xf7 if matches!(register & 7, 2 | 3) && instruction.whole() => {
            lose_operand(instruction, effect);
        }
        0xfe | 0xff => match register & 7 {
            0 | 1 if instruction.whole() => lose_operand(instruction, effect),
            2 | 3 => effect.flow = Flow::Call,
            4 | 5 => effect.flow = Flow::Anywhere,
            6 => push(operand, instruction, effect)?,
            _ => {}
        },
        _ => {}
    }
    Some(())
}

fn two_bytes(instruction: &Instruction, at: u64, effect: &mut Effect) {
    let Instruction {
        opcode, register, ..
    } = *instruction;
    match opcode {
        // UD2
        0x0b => effect.flow = Flow::Never,
        // SYSRET, SYSENTER, SYSEXIT
        0x07 | 0x34 | 0x35 => effect.flow = Flow::End,
        0x80..=0x8f => effect.flow = Flow::Branch(instruction.target(at)),
        // PUSH and POP of segment registers
        0xa0 | 0xa8 => effect.before = -8,
        0xa1 | 0xa9 => effect.after = 8,
        // LAR, LSL, MOV from others, CMOV, MOVMSK, conversions, MOVZX, MOVSX, IMUL, BSF, BSR, POPCNT, PEXTRW, KMOV
        0x02
        | 0x03
        | 0x2c
        | 0x2d
        | 0x40..=0x50
        | 0x93
        | 0xaf
        | 0xb2
        | 0xb4..=0xb8
        | 0xbc..=0xbf
        | 0xc5
        | 0xd7 => lose(register, effect),
        // SMSW, RDRAND, MOV from control registers, VMREAD, MOVD, SETcc, BTS and so on, SHLD, SHRD, CMPXCHG, XADD
        0x90..=0x9f | 0xb0 | 0xc0 if !instruction.whole() => {}
        0x00
        | 0x01
        | 0x20
        | 0x21
        | 0x78
        | 0x79
        | 0x7e
        | 0x91..=0x92
        | 0x94..=0x9f
        | 0x90
        | 0xa4
        | 0xa5
        | 0xab..=0xad
        | 0xb0
        | 0xb1
        | 0xb3
        | 0xba
        | 0xbb
        | 0xc0
        | 0xc1
        | 0xc7 => {
            lose_operand(instruction, effect);
            if matches!(opcode, 0x78 | 0x79 | 0xc0 | 0xc1) {
                lose(register, effect);
            }
        }
        0xc8..=0xcf => lose(opcode & 7 | instruction.extension, effect),
        _ => {}
    }
}

/// A push, of a register if it is one. With a prefix it has two bytes, which no compiler uses: not followed.
fn push(register: Option<u8>, instruction: &Instruction, effect: &mut Effect) -> Option<()> {
    if instruction.short_operand {
        return None;
    }
    effect.before = -8;
    if register == Some(RBP) {
        effect.saves_frame_pointer = Some(Place::in_stack(0));
    }
    Some(())
}

/// A pop, into a register if it is one.
fn pop(register: Option<u8>, instruction: &Instruction, effect: &mut Effect) -> Option<()> {
    if instruction.short_operand {
        return None;
    }
    effect.after = 8;
    match register {
        Some(RBP) => effect.frame_pointer = Change::Loaded(Place::in_stack(0)),
        Some(RSP) => effect.stack_pointer = Change::Lost,
        _ => {}
    }
    Some(())
}
