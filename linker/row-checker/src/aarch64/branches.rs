//! Branches and exceptions. Manual: C4.1.93.

use super::changes::Changes;
use super::system;
use super::word::{Word, ZERO, read};
use super::{ELR_EL1, LR, PC, Register, SP};
use crate::instruction::{Effect, Flow, Instruction, Operand, SignalFrame, SystemCalls};

/// Registers that a call of an operating system, hypervisor or firmware may change: x0 to x18.
const CHANGED_BY_CALLS: std::ops::RangeInclusive<Register> = 0..=18;

/// Linux: it has no `vfork`.
static SYSTEM_CALLS: SystemCalls = SystemCalls {
    number: 8,
    on_other_stack: &[220, 435],
    on_used_stack: &[],
    last: &[93, 94],
    // `struct rt_sigframe`, which the stack pointer points to: 128 bytes of `siginfo`, and `uc_mcontext` 176 bytes after them.
    signal_returns: &[SignalFrame {
        number: 139,
        stack_pointer: 0x230,
        program_counter: 0x238,
        frame_pointer: 0x220,
    }],
};

/// Returns `udf`.
pub(super) fn undefined(word: Word) -> Instruction {
    match word.0 {
        0 => Instruction {
            flow: Flow::Trap,
            is_padding: true,
            ..trap()
        },
        _ => trap(),
    }
}

/// Decodes an instruction of this group at an address. System instructions are among these.
pub(super) fn decode(word: Word, at: u64) -> Option<Instruction> {
    let to = |kind, low, count| {
        let target = at.wrapping_add_signed(i64::from(word.signed(low, count)) * 4);
        Some(Instruction {
            target,
            ..flow(kind)
        })
    };
    match word.bits(24, 8) {
        0x14..=0x17 => to(Flow::Jump, 0, 26),
        0x94..=0x97 => to(Flow::Call, 0, 26),
        // b.al, b.nv
        0x54 if word.bits(0, 4) >= 14 => to(Flow::Jump, 5, 19),
        0x54 => {
            let is_not_equal = word.bits(0, 4) == 1;
            to(Flow::Branch, 5, 19).map(|branch| Instruction {
                is_not_equal,
                ..branch
            })
        }
        // retaasppc, retabsppc
        0x55 if word.is(0x00c0_001f, 0x1f) => Some(authenticated_return()),
        // cbz, cbnz
        0x34 | 0x35 | 0xb4 | 0xb5 => to(Flow::Branch, 5, 19),
        // tbz, tbnz
        0x36 | 0x37 | 0xb6 | 0xb7 => to(Flow::Branch, 5, 14),
        // cbgt and its like: compare and branch
        0x74 | 0x75 | 0xf4 | 0xf5 => to(Flow::Branch, 5, 9),
        0xd4 => exception(word),
        0xd5 => system::changes(word).map(|changes| Instruction {
            is_padding: system::is_nop(word),
            ..changes.instruction()
        }),
        0xd6 | 0xd7 => indirect(word),
        _ => None,
    }
}

/// Returns a control transfer without effects.
fn flow(flow: Flow) -> Instruction {
    Instruction {
        flow,
        ..Instruction::nothing(4)
    }
}

fn exception(word: Word) -> Option<Instruction> {
    if word.bits(2, 3) != 0 {
        return None;
    }
    match (word.bits(21, 3), word.bits(0, 2)) {
        // svc: Linux ignores its number
        (0, 1) => {
            let mut call = handled(CHANGED_BY_CALLS);
            call.effects.push(Effect::SystemCall(&SYSTEM_CALLS));
            Some(call)
        }
        // hvc, smc
        (0, 2..) => Some(handled(CHANGED_BY_CALLS)),
        // hlt, by which debuggers and emulators are called, whose result is in x0
        (2, 0) => Some(handled(0..=0)),
        // brk, tcancel; dcps1, dcps2, dcps3, which are undefined unless the processor is in debug state
        (1 | 3, 0) | (5, 1..) => Some(trap()),
        _ => None,
    }
}

/// Returns an instruction that calls other software, which may change these registers and memory. An exception that is taken to the same
/// level overwrites the address of an earlier one.
fn handled(registers: std::ops::RangeInclusive<Register>) -> Instruction {
    let changes = Changes::default().store_anywhere(SP);
    Instruction {
        flow: Flow::Halt,
        ..changes.forget(registers).forget([ELR_EL1]).instruction()
    }
}

/// Returns an instruction that raises an exception. A handler may resume after it.
fn trap() -> Instruction {
    Instruction {
        flow: Flow::Trap,
        ..Changes::default().forget([ELR_EL1]).instruction()
    }
}

fn authenticated_return() -> Instruction {
    let changes = Changes::one(LR, Operand::Authenticated(LR));
    Instruction {
        flow: Flow::Return,
        ..changes.instruction()
    }
}

fn jump_to(target: Operand) -> Instruction {
    Instruction {
        flow: Flow::IndirectJump,
        ..Changes::one(PC, target).instruction()
    }
}

fn indirect(word: Word) -> Option<Instruction> {
    if word.bits(16, 5) != 31 {
        return None;
    }
    let (kind, from) = (word.bits(21, 4), word.rn());
    // With an authentication code: `operand` is its modifier if the kind has one, otherwise 31.
    let (is_authenticated, operand) = match (word.bits(10, 6), word.rd()) {
        (0, 0) => (false, ZERO),
        (2 | 3, operand) => (true, operand),
        _ => return None,
    };
    let is_plain = !is_authenticated;
    let has_modifier = is_authenticated && kind & 8 != 0;
    match kind {
        // retaasppcr has the register of its modifier there.
        2 if is_authenticated => (from == ZERO).then(authenticated_return),
        _ if operand != ZERO && !has_modifier => None,
        2 if from == LR => Some(flow(Flow::Return)),
        2 => {
            let changes = Changes::one(LR, read(from));
            Some(Instruction {
                flow: Flow::Return,
                ..changes.instruction()
            })
        }
        4 if is_plain || from == ZERO => (from == ZERO).then(|| flow(Flow::TrapReturn)),
        // drps: a return from debug state
        5 if is_plain => (from == ZERO).then(|| flow(Flow::Unknown)),
        0 if is_plain => Some(jump_to(read(from))),
        0 => Some(jump_to(Operand::Unknown)),
        1 => Some(flow(Flow::IndirectCall)),
        8 if has_modifier => Some(jump_to(Operand::Unknown)),
        9 if has_modifier => Some(flow(Flow::IndirectCall)),
        _ => None,
    }
}
