//! Translates operations of A32 and T32 to the instructions of the checker.

use arm_instructions::{LR, Op, PC, Register, SP, Source};

use super::block::Condition;
use super::read::{Read, address, constant};
use crate::instruction::{Effect, Flow, Instruction, Operand, SystemCalls};
use crate::program::{Mode, Program};

/// The number of the condition "not equal".
const NOT_EQUAL: Condition = Condition::Known(1);
/// Registers that a call to a supervisor may change: r0 to r3, r12, and the link register if the supervisor runs in the caller's mode.
const BY_SUPERVISOR: u16 = 0xf | 1 << 12 | 1 << LR;
/// Registers that a hypervisor or firmware may change: r4 to r7 in addition. Source: SMC Calling Convention (Arm DEN 0028), section 2.5.
const BY_FIRMWARE: u16 = BY_SUPERVISOR | 0xf << 4;
/// Linux.
static SYSTEM_CALLS: SystemCalls = SystemCalls {
    number: 7,
    on_other_stack: &[120, 435],
    on_used_stack: &[190],
    last: &[1, 248],
    signal_returns: &[],
};
/// Linux, if the instruction contains the number of the call. The program counter stands for the number, because a state never knows it.
static OLD_SYSTEM_CALLS: SystemCalls = SystemCalls {
    number: PC,
    on_other_stack: SYSTEM_CALLS.on_other_stack,
    on_used_stack: SYSTEM_CALLS.on_used_stack,
    last: &[],
    signal_returns: &[],
};
/// Registers of which a mode may have its own, except the stack pointer: r8 to r12, and the link register.
const OF_MODES: u16 = 0x1f << 8 | 1 << LR;

/// An instruction that is being translated.
pub(super) struct Translation<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) read: &'a Read,
    pub(super) flow: Flow,
    pub(super) target: u64,
    effects: Vec<Effect>,
}

/// Translates an instruction. `None`: its effect is not known.
pub(super) fn translate(program: &Program<'_>, read: &Read) -> Option<Instruction> {
    let mut translation = Translation {
        program,
        read,
        flow: Flow::Next,
        target: 0,
        effects: Vec::new(),
    };
    translation.op(read.op)?;
    let is_conditional = !read.condition.is_always();
    let jumps = translation.flow == Flow::Jump;
    let flow = match translation.flow {
        Flow::Jump if is_conditional => Flow::Branch,
        // Control goes to code that is an instruction of another set.
        Flow::Next | Flow::Halt if translation.is_other_set(translation.next()) => {
            return None;
        }
        flow => flow,
    };
    Some(Instruction {
        length: read.length,
        flow,
        target: translation.target,
        is_conditional: is_conditional && flow != Flow::Branch,
        condition: match read.condition {
            Condition::Known(number) if is_conditional => Some(number),
            _ => None,
        },
        keeps_flags: keeps_flags(read.op),
        may_name: true,
        is_padding: is_padding(program, read),
        is_not_equal: jumps && read.condition == NOT_EQUAL,
        effects: translation.effects,
    })
}

/// Whether an instruction is known to leave the flags that conditions test as they are.
fn keeps_flags(op: Op) -> bool {
    match op {
        Op::Add { flags, .. }
        | Op::And { flags, .. }
        | Op::Move { flags, .. }
        | Op::Unknown { flags, .. } => !flags,
        Op::Nothing
        | Op::If(_)
        | Op::Top { .. }
        | Op::Low { .. }
        | Op::Load { .. }
        | Op::Store { .. }
        | Op::Pair { .. }
        | Op::StoreExclusive { .. }
        | Op::Other { .. }
        | Op::Multiple { .. } => true,
        _ => false,
    }
}

/// Whether an instruction is padding: `nop`, the older forms of it, and zeros.
fn is_padding(program: &Program<'_>, read: &Read) -> bool {
    const A32: [u32; 3] = [0xe320_f000, 0xe1a0_0000, 0];
    const T32: [u32; 4] = [0xbf00, 0x46c0, 0, 0x8000_f3af];
    let Some(bytes) = program
        .code(read.at)
        .and_then(|code| code.get(..read.length.into()))
    else {
        return false;
    };
    let bits = bytes
        .iter()
        .rev()
        .fold(0, |bits, byte| bits << 8 | u32::from(*byte));
    match read.is_thumb {
        true => T32.contains(&bits),
        false => A32.contains(&bits),
    }
}

impl Translation<'_> {
    fn op(&mut self, op: Op) -> Option<()> {
        match op {
            Op::Nothing | Op::Flags | Op::If(_) => Some(()),
            Op::Compare(left, right) => {
                self.compare(left, right);
                Some(())
            }
            Op::Add {
                to,
                left,
                right,
                subtracts,
                ..
            } => self.add(to, left, right, subtracts),
            Op::Move {
                to, from, inverts, ..
            } => {
                let value = self.copied(from, inverts);
                self.set(to, value)
            }
            Op::And { to, .. } | Op::Top { to, .. } | Op::Low { to, .. } => {
                self.set(to, self.read.computed(self.program))
            }
            Op::Unknown { to, .. } => self.forget(to, self.read.computed(self.program)),
            Op::Load {
                to,
                size,
                signed,
                place,
            } => self.load(to, size, signed, place),
            Op::Store { from, size, place } => self.store_one(from, size, place),
            Op::Pair {
                loads,
                registers,
                place,
            } => self.pair(loads, registers, place),
            Op::StoreExclusive {
                status,
                size,
                place,
            } => {
                self.store_unknown(size, place)?;
                self.set(status, Operand::Unknown)
            }
            Op::Other { loads, size, place } => match loads {
                true => self.moves(place),
                false => self.store_unknown(size, place),
            },
            Op::Multiple {
                loads: true,
                base,
                registers,
                start,
                moves,
                user,
            } => self.load_several(base, registers, (start, moves), user),
            Op::Multiple {
                base,
                registers,
                start,
                moves,
                user,
                ..
            } => self.store_several(base, registers, (start, moves), user),
            _ => self.branch(op),
        }
    }

    /// The address after the instruction.
    fn next(&self) -> u64 {
        self.read.at + u64::from(self.read.length)
    }

    fn branch(&mut self, op: Op) -> Option<()> {
        match op {
            // To the same instruction set.
            Op::Jump(to) | Op::JumpIf(to) if self.is_other_set(to.into()) => return None,
            Op::Jump(to) => self.jump(to.into()),
            Op::JumpIf(to) => {
                self.flow = Flow::Branch;
                self.target = to.into();
            }
            Op::Call(to) => {
                self.flow = Flow::Call;
                self.target = to.into();
            }
            Op::JumpTo(LR) => self.flow = Flow::Return,
            // `bx pc`, by which T32 code changes to A32.
            Op::JumpTo(PC) => self.jump(self.read.pc()),
            Op::JumpTo(register) => self.jump_to(Operand::Sum(register, 0)),
            Op::Table { .. } => self.jump_to(Operand::Unknown),
            Op::CallTo(PC) => return None,
            Op::CallTo(_) => self.flow = Flow::IndirectCall,
            Op::InterruptReturn => self.flow = Flow::TrapReturn,
            Op::Mode => {
                self.effect(Effect::Set(SP, Operand::Unknown));
                return self.forget(OF_MODES, Operand::Unknown);
            }
            Op::Supervisor => {
                self.flow = Flow::Halt;
                self.store_anywhere(Operand::Unknown);
                match self.is_system_call() {
                    Some(is_new) => {
                        self.forget(BY_SUPERVISOR, Operand::Unknown)?;
                        self.effect(Effect::SystemCall(match is_new {
                            true => &SYSTEM_CALLS,
                            false => &OLD_SYSTEM_CALLS,
                        }));
                    }
                    None if self.is_firmware_call() => {
                        self.forget(BY_FIRMWARE, Operand::Unknown)?
                    }
                    None => self.forget(BY_SUPERVISOR, Operand::Unknown)?,
                }
            }
            Op::Trap => self.flow = Flow::Trap,
            // A debugger or an emulator may write its result to r0 and to memory (semihosting).
            Op::Breakpoint => {
                self.flow = Flow::Trap;
                self.store_anywhere(Operand::Unknown);
                return self.forget(1, Operand::Unknown);
            }
            _ => return None,
        }
        Some(())
    }

    /// For `svc`: whether Linux takes the number of the call from r7. In A32, an older interface takes it from the instruction, if that has
    /// one. `None`: the instruction is not `svc`.
    fn is_system_call(&self) -> Option<bool> {
        let code = self.program.code(self.read.at)?;
        match (self.read.is_thumb, code) {
            (true, [_, 0xdf, ..]) => Some(true),
            (false, [0, 0, 0, top, ..]) if top & 15 == 15 => Some(true),
            (false, [_, _, _, top, ..]) if top & 15 == 15 => Some(false),
            _ => None,
        }
    }

    /// Whether the instruction, which is not `svc`, is `hvc` or `smc`, and not `hlt`.
    fn is_firmware_call(&self) -> bool {
        let code = self.program.code(self.read.at);
        code.is_some_and(|code| match (self.read.is_thumb, code) {
            (true, _) => self.read.length == 4,
            (false, [_, _, third, ..]) => third >> 5 & 3 != 0,
            _ => false,
        })
    }

    /// Jumps to an address that is not a constant.
    pub(super) fn jump_to(&mut self, target: Operand) {
        self.flow = Flow::IndirectJump;
        self.effect(Effect::Set(PC, target));
    }

    pub(super) fn jump(&mut self, to: u64) {
        self.flow = Flow::Jump;
        self.target = to;
    }

    /// Whether code of the other instruction set is at an address.
    fn is_other_set(&self, at: u64) -> bool {
        match self.program.mode(at) {
            Mode::Usual => self.read.is_thumb,
            Mode::Thumb => !self.read.is_thumb,
            Mode::Data => false,
        }
    }

    /// Sets a register. An unknown value moves the stack pointer. `None`: the program counter, which only jumps set.
    pub(super) fn set(&mut self, register: Register, value: Operand) -> Option<()> {
        let value = match (register, value) {
            (SP, Operand::Unknown | Operand::Computed(_)) => Operand::Moved,
            _ => value,
        };
        (register != PC).then(|| self.effects.push(Effect::Set(register, value)))
    }

    /// Sets registers to values that are not known.
    fn forget(&mut self, registers: u16, value: Operand) -> Option<()> {
        (0..=PC)
            .filter(|register| registers >> register & 1 != 0)
            .try_for_each(|register| self.set(register, value))
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// The sum or difference of a register and a second source.
    pub(super) fn sum(&self, left: Register, right: Source, subtracts: bool) -> Operand {
        match (left, right) {
            (PC, Source::Constant(bytes)) => {
                let bytes = if subtracts {
                    bytes.wrapping_neg()
                } else {
                    bytes
                };
                address(self.program, self.read.near(bytes))
            }
            (PC, _) | (_, Source::Register(PC, _)) => self.read.computed(self.program),
            (_, Source::Constant(bytes)) => {
                let bytes = bytes.cast_signed();
                let bytes = if subtracts {
                    bytes.wrapping_neg()
                } else {
                    bytes
                };
                Operand::Sum(left, bytes)
            }
            (_, Source::Register(right, shift)) => Operand::Registers {
                left,
                right,
                shift,
                subtracts,
            },
            (_, Source::Other) => self.read.computed(self.program),
        }
    }

    fn add(&mut self, to: Register, left: Register, right: Source, subtracts: bool) -> Option<()> {
        if to != PC {
            let value = self.sum(left, right, subtracts);
            return self.set(to, value);
        }
        match (left, right) {
            // Back to the caller, but not behind the call.
            (LR, _) | (_, Source::Register(LR, _)) => {
                self.flow = Flow::Return;
                return self.set(LR, Operand::Unknown);
            }
            (PC, Source::Constant(bytes)) if !subtracts => self.jump(self.read.near(bytes)),
            _ => self.jump_to(self.sum(left, right, subtracts)),
        }
        Some(())
    }

    /// The value that a move copies.
    fn copied(&self, from: Source, inverts: bool) -> Operand {
        match (from, inverts) {
            (Source::Constant(value), false) => constant(self.program, value),
            (Source::Constant(value), true) => constant(self.program, !value),
            (Source::Register(PC, 0), false) => address(self.program, self.read.pc()),
            (Source::Register(register, 0), false) => Operand::Sum(register, 0),
            _ => self.read.computed(self.program),
        }
    }

    /// Notes a comparison of the stack pointer, unless it depends on a condition.
    fn compare(&mut self, left: Register, right: Source) {
        let other = match (left, right) {
            (SP, Source::Register(other, 0)) | (other, Source::Register(SP, 0)) => other,
            _ => return,
        };
        if other != PC && self.read.condition.is_always() {
            self.effect(Effect::ComparesStackPointer(other));
        }
    }
}
