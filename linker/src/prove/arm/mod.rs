//! The effects of A32 and T32 instructions on the abstract state. Manual: Arm Architecture Reference Manual for ARMv7-A and ARMv7-R (DDI 0406);
//! "Procedure Call Standard for the Arm Architecture" (AAPCS32), section 6.1 "Machine Registers".
//!
//! Instructions of both sets are decoded to an `Op`. Undefined encodings, and those that few programs contain, have none, so that the proof
//! makes no statement about their function.

mod arithmetic;
mod branch;
mod memory;

use arm_instructions::{ALWAYS, Decoded, LR, Op, PC, SP, decode_a32, decode_t32, t32_length};

use super::compare::Condition;
use super::isa::{Executed, Flow, Isa};
use super::machine::Machine;
use super::table::Tables;
use super::value::{Register, Value};
use crate::mapping::{Kind, Mapping};

/// A32 and T32 with the procedure call standard for the Arm architecture.
#[derive(Clone, Debug)]
pub struct Arm {
    mapping: Mapping,
}

/// An instruction's bytes: what they do depends on the block of conditional instructions that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    bytes: [u8; 4],
    length: u8,
}

impl Instruction {
    fn new(code: &[u8], length: u8) -> Self {
        let mut bytes = [0; 4];
        let count = code.len().min(usize::from(length)).min(bytes.len());
        bytes[..count].copy_from_slice(&code[..count]);
        Self { bytes, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }
}

/// The frame pointer of code of A32.
const FP: Register = 11;
/// The interpreter's number of the state of a block of conditional instructions (`ITSTATE`).
const BLOCK: Register = 40;

impl Arm {
    /// That of an image, whose symbols tell which code is of which set.
    #[must_use]
    pub fn of(file: &object::File<'_>) -> Self {
        Self {
            mapping: Mapping::of(file),
        }
    }

    /// Bytes of the first instruction in `code`, which lies at an address.
    fn length_of(&self, code: &[u8], at: u64) -> Option<u8> {
        let length = match self.mapping.at(at) {
            Kind::A32 => 4,
            Kind::T32 => t32_length(u16::from_le_bytes(*code.first_chunk()?)),
            Kind::Data => return None,
        };
        (code.len() >= usize::from(length)).then_some(length)
    }

    /// The instruction at an address, in a block with this state.
    fn decoded(&self, code: &[u8], at: u64, state: Option<u8>) -> Option<Decoded> {
        let address = u32::try_from(at).ok()?;
        let mut decoded = match self.mapping.at(at) {
            Kind::A32 if address & 3 != 0 => return None,
            Kind::T32 if address & 1 != 0 => return None,
            Kind::A32 => decode_a32(u32::from_le_bytes(*code.first_chunk()?), address)?,
            Kind::T32 => decode_t32(code, address, state.is_some())?,
            Kind::Data => return None,
        };
        if let Some(state) = state {
            decoded.condition = state >> 4;
        }
        Some(decoded)
    }
}

/// The state of the block that the next instruction is in, if it is in one.
fn state_of(machine: &Machine) -> Option<u8> {
    match machine.get(BLOCK) {
        Value::Constant(state) => Some(state as u8).filter(|state| state & 15 != 0),
        _ => None,
    }
}

/// Steps the state over an instruction of the block. Manual: A2.5.2 "Execution state registers", `ITAdvance`.
fn advance(machine: &mut Machine) {
    let state = state_of(machine).unwrap_or(0);
    let next = match state & 7 {
        0 => 0,
        _ => state & 0xe0 | state << 1 & 0x1f,
    };
    machine.set(BLOCK, Value::Constant(next.into()));
}

impl Isa for Arm {
    const WORD: u8 = 4;
    const STACK_POINTER: Register = SP;
    const FRAME_POINTER: Register = FP;
    const RETURN_ADDRESS: Register = LR;
    // r4 to r11 and sp.
    const KEPT_BY_CALLS: u64 = 0xff << 4 | 1 << SP;
    // The frame pointer of code of T32 first.
    const OTHER_BASES: &'static [Register] = &[7, 4, 5, 6, 8, 9, 10];
    const FOLLOWED: &'static [Register] = &[4, 5, 6, 7, 8, 9, 10];
    const IS_STRICT: bool = true;
    const INSTRUCTION_SET_BITS: u64 = branch::THUMB;
    const KEEPS_INTERRUPTED_ON_STACK: bool = false;

    type Instruction = Instruction;

    fn decode(&self, code: &[u8], at: u64, decoded: &mut Vec<Instruction>) {
        if let Some(length) = self.length_of(code, at) {
            decoded.push(Instruction::new(code, length));
        }
    }

    fn run(
        &self,
        instruction: &Instruction,
        machine: &mut Machine,
        tables: &mut Tables,
    ) -> Option<Executed> {
        let state = state_of(machine);
        let decoded = self.decoded(instruction.bytes(), machine.at, state)?;
        if state.is_some() {
            advance(machine);
        }
        let before = (decoded.condition < ALWAYS).then(|| machine.clone());
        let at = machine.at;
        let is_thumb = self.mapping.at(at) == Kind::T32;
        let pc = at.wrapping_add(if is_thumb { 4 } else { 8 });
        let mut run = Run {
            machine,
            tables,
            pc,
            next: at.wrapping_add(decoded.length.into()),
            is_thumb,
        };
        let mut flow = run.execute(decoded.op)?;
        if let Some(before) = before {
            match flow {
                Flow::Next => {
                    machine.join(&before, at);
                }
                Flow::Jump(Value::Constant(to)) => flow = Flow::Branch(to, condition(&decoded)),
                // See `may_be_passed_over`.
                _ => {}
            }
        }
        Some(Executed {
            length: decoded.length,
            flow,
        })
    }

    fn may_be_passed_over(&self, instruction: &Instruction, machine: &Machine) -> bool {
        let decoded = self.decoded(instruction.bytes(), machine.at, state_of(machine));
        decoded.is_some_and(|decoded| {
            decoded.condition < ALWAYS
                && decoded.op.may_jump()
                && !matches!(decoded.op, Op::Jump(_))
        })
    }

    fn passed_over(&self, machine: &mut Machine) {
        if state_of(machine).is_some() {
            advance(machine);
        }
    }

    fn lengths(&self, code: &[u8], at: u64) -> impl Iterator<Item = u8> {
        let mut passed = 0;
        std::iter::from_fn(move || {
            let length = self.length_of(code.get(passed..)?, at.wrapping_add(passed as u64))?;
            passed += usize::from(length);
            Some(length)
        })
    }

    fn text(&self, code: &[u8], at: u64) -> String {
        let Some(decoded) = self.decoded(code, at, None) else {
            return "no instruction".to_owned();
        };
        let bytes = code.get(..usize::from(decoded.length)).unwrap_or(code);
        let halves = bytes.chunks_exact(2);
        let halves = halves.map(|half| format!("{:04x}", u16::from_le_bytes([half[0], half[1]])));
        match (decoded.length, self.mapping.at(at)) {
            (4, Kind::A32) => {
                let halves: Vec<_> = halves.rev().collect();
                format!(".inst 0x{}", halves.concat())
            }
            (length, _) => {
                let halves: Vec<_> = halves.collect();
                let width = if length == 2 { 'n' } else { 'w' };
                format!(".inst.{width} 0x{}", halves.concat())
            }
        }
    }

    fn padding(&self, code: &[u8]) -> Option<u8> {
        // nop, mov r0, r0, and what LLVM and lld put where control cannot come.
        const A32: [u32; 5] = [0xe320_f000, 0xe1a0_0000, 0xe7ff_defe, 0xd4d4_d4d4, 0];
        const T32: [u16; 3] = [0xbf00, 0x46c0, 0xdefe];
        let word = code.first_chunk().map(|word| u32::from_le_bytes(*word));
        if word.is_some_and(|word| A32.contains(&word)) {
            return Some(4);
        }
        let half = u16::from_le_bytes(*code.first_chunk()?);
        T32.contains(&half).then_some(2)
    }
}

/// The condition of a branch.
fn condition(decoded: &Decoded) -> Condition {
    match decoded.condition {
        0 => Condition::Equal,
        1 => Condition::NotEqual,
        2 => Condition::AboveOrEqual,
        3 => Condition::Below,
        8 => Condition::Above,
        9 => Condition::BelowOrEqual,
        _ => Condition::Other,
    }
}

/// One instruction being executed.
struct Run<'a> {
    machine: &'a mut Machine,
    tables: &'a mut Tables,
    /// What it reads as the program counter.
    pc: u64,
    /// The address of the next one.
    next: u64,
    /// It is one of T32.
    is_thumb: bool,
}

impl Run<'_> {
    /// Executes an instruction, as if its condition held. `None`: it is none that could be executed.
    fn execute(&mut self, op: Op) -> Option<Flow> {
        match op {
            Op::Nothing | Op::Breakpoint => Some(Flow::Next),
            Op::Flags => {
                self.machine.forget_flags();
                Some(Flow::Next)
            }
            Op::Compare(left, right) => Some(self.compare(left, right)),
            Op::Add {
                to,
                left,
                right,
                subtracts,
                flags,
            } => self.add(to, left, right, subtracts, flags),
            Op::And {
                to,
                left,
                right,
                clears,
                flags,
            } => self.and(to, left, right, clears, flags),
            Op::Move {
                to,
                from,
                inverts,
                flags,
            } => self.copy(to, from, inverts, flags),
            Op::Top { to, half } => self.top(to, half),
            Op::Low { to, from, bits } => self.low(to, from, bits),
            Op::Unknown { to, flags } => self.unknown(to, flags),
            Op::Load {
                to,
                size,
                signed,
                place,
            } => self.load(to, size, signed, place),
            Op::Store { from, size, place } => self.store(from, size, place),
            Op::Pair {
                loads,
                registers,
                place,
            } => self.pair(loads, registers, place),
            Op::StoreExclusive {
                status,
                size,
                place,
            } => self.store_exclusive(status, size, place),
            Op::Other { loads, size, place } => self.other(loads, size, place),
            Op::Multiple {
                loads,
                base,
                registers,
                start,
                moves,
                user,
            } => self.multiple(loads, base, registers, (start, moves), user),
            _ => Some(self.branch(op)),
        }
    }

    /// The value of a register.
    fn read(&self, register: Register) -> Value {
        match register {
            PC => Value::Constant(self.pc),
            _ => self.machine.get(register),
        }
    }

    /// As [`Run::read`], but an unknown value becomes a symbolic one first.
    fn read_named(&mut self, register: Register) -> Value {
        match register {
            PC => self.read(PC),
            _ => self.machine.named(register),
        }
    }

    /// Sets a register. `None`: the program counter, which other instructions set.
    fn write(&mut self, register: Register, value: Value) -> Option<Flow> {
        (register != PC).then(|| {
            self.machine.set(register, value);
            Flow::Next
        })
    }
}
