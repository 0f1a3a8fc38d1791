//! Constants that code makes: by `adr`, by two halves, or from a literal.

use arm_instructions::{LR, Op, PC, Register, Source};

use super::block::Condition;
use super::read::{Read, read};
use super::translate::translate;
use crate::instruction::{Effect, Flow, Named};
use crate::program::Program;

/// Registers that a call changes.
const BY_CALLS: u16 = 0xf | 1 << 12 | 1 << LR;

/// Maximum number of constants that are stored for one register.
const MOST: usize = 32;

/// Constants that a register may hold. Conditional instructions make several.
type Constants = Vec<u32>;

/// What is known while a function's instructions are read in the order of their addresses.
struct Names<'a> {
    program: &'a Program<'a>,
    constants: [Constants; PC as usize],
    named: Vec<Named>,
    /// The register that the instruction before has set to a constant or to a sum with the program counter. The next instruction may add more
    /// to it. If so, and the instruction before only reads the program counter, the first so many names stay.
    last: Option<(Register, Option<usize>)>,
    /// The constant that the instruction before has moved to a register, and its condition.
    moved: Option<(Register, Condition, u32)>,
}

/// Returns the addresses that instructions name. A low half without an upper half is a number, no address.
pub(super) fn named(program: &Program<'_>, instructions: &[u64]) -> Vec<Named> {
    let mut names = Names {
        program,
        constants: Default::default(),
        named: Vec::new(),
        last: None,
        moved: None,
    };
    for at in instructions {
        match read(program, *at) {
            Some(read) => names.step(&read),
            None => (names.last, names.moved) = (None, None),
        }
    }
    names.named
}

impl Names<'_> {
    fn step(&mut self, read: &Read) {
        let last = self.last.take();
        let moved = self.moved.take();
        // Constants in relocatable code are no addresses, but the distance from an instruction to an address is constant.
        let is_fixed = !self.program.is_relocatable;
        let (to, constants, is_named) = match read.op {
            Op::Add {
                to,
                left,
                right,
                subtracts,
                ..
            } if to != PC => {
                let is_relative = left == PC || right == Source::Register(PC, 0);
                let is_constant = matches!(right, Source::Constant(_));
                let continues = last.filter(|(sum, _)| *sum == to && left == to && is_constant);
                if let Some((_, Some(count))) = continues {
                    self.named.truncate(count);
                }
                let is_named = is_relative || continues.is_some();
                let constants = match is_named {
                    true => self.sums(read, left, right, subtracts),
                    false => Vec::new(),
                };
                if continues.is_some() {
                    self.last = Some((to, None));
                }
                if is_relative {
                    // The start of an entry of a procedure linkage table only reads the program counter.
                    let is_start = (left, right) == (PC, Source::Constant(0));
                    self.last = Some((to, is_start.then_some(self.named.len())));
                }
                (to, constants, is_named)
            }
            Op::Move {
                to,
                from: Source::Constant(value),
                inverts,
                ..
            } => {
                let value = if inverts { !value } else { value };
                self.moved = Some((to, read.condition, value));
                self.last = is_fixed.then_some((to, None));
                (to, vec![value], false)
            }
            Op::Move {
                to,
                from: Source::Register(PC, 0),
                inverts: false,
                ..
            } => {
                self.last = Some((to, None));
                (to, vec![read.pc() as u32], true)
            }
            Op::Move {
                to,
                from: Source::Register(from, shift),
                inverts: false,
                ..
            } => {
                let all = self.of(from).into_iter();
                let shifted = all.map(|one| one.checked_shl(shift.into()).unwrap_or(0));
                self.last = last.filter(|(sum, _)| *sum == to && from == to);
                (to, shifted.collect(), false)
            }
            Op::Top { to, half } => {
                let top = u32::from(half) << 16;
                // Under one condition, both halves are moved or neither is, so that no older constant gets this upper half.
                let both = moved.filter(|(register, condition, _)| {
                    (*register, *condition) == (to, read.condition)
                        && *condition != Condition::Unknown
                });
                let lows = both.map_or_else(|| self.of(to), |(_, _, low)| vec![low]);
                let constants = lows.iter().map(|low| low & 0xffff | top).collect();
                self.last = is_fixed.then_some((to, None));
                (to, constants, is_fixed)
            }
            Op::Load {
                to, size: 4, place, ..
            } if to != PC => {
                let literal = read.literal(self.program, place);
                self.last = literal.filter(|_| is_fixed).map(|_| (to, None));
                (to, literal.into_iter().collect(), is_fixed)
            }
            _ => return self.forget(read),
        };
        if is_named {
            for value in &constants {
                self.name(read, *value);
            }
        }
        self.forget(read);
        if let Some(slot) = self.constants.get_mut(usize::from(to)) {
            slot.extend(constants);
            slot.sort_unstable();
            slot.dedup();
            slot.truncate(MOST);
        }
    }

    fn of(&self, register: Register) -> Constants {
        self.constants
            .get(usize::from(register))
            .cloned()
            .unwrap_or_default()
    }

    /// The sums, or differences, of the constants that two sources may hold. At most one source has several.
    fn sums(&self, read: &Read, left: Register, right: Source, subtracts: bool) -> Constants {
        let left = match (left, right) {
            (PC, Source::Constant(_)) => vec![read.near(0) as u32],
            (PC, _) => vec![read.pc() as u32],
            _ => self.of(left),
        };
        let right = match right {
            Source::Constant(value) => vec![value],
            Source::Register(PC, 0) => vec![read.pc() as u32],
            Source::Register(register, 0) => self.of(register),
            _ => Vec::new(),
        };
        let sum = |left: u32, right: u32| match subtracts {
            true => left.wrapping_sub(right),
            false => left.wrapping_add(right),
        };
        let sums = left
            .iter()
            .flat_map(|left| right.iter().map(move |right| sum(*left, *right)));
        sums.collect()
    }

    fn name(&mut self, read: &Read, value: u32) {
        let address = self.program.instruction_at(value.into());
        if self.program.section(address).is_some() {
            self.named.push(Named {
                at: read.at,
                address,
                is_relative: matches!(read.op, Op::Add { .. } | Op::Move { .. }),
            });
        }
    }

    /// Forgets the constants of registers that an instruction sets, unless it may not be executed.
    fn forget(&mut self, read: &Read) {
        let Some(instruction) = translate(self.program, read) else {
            return;
        };
        if instruction.is_conditional {
            return;
        }
        for effect in &instruction.effects {
            if let Effect::Set(register, _) = effect
                && let Some(slot) = self.constants.get_mut(usize::from(*register))
            {
                slot.clear();
            }
        }
        let is_next = instruction.target == read.at + u64::from(read.length);
        if matches!(instruction.flow, Flow::Call | Flow::IndirectCall) && !is_next {
            for register in (0..PC).filter(|register| BY_CALLS >> register & 1 != 0) {
                self.constants[usize::from(register)].clear();
            }
        }
    }
}

/// The constant that a register holds after the instructions `before`, the nearest first, if it is made in so many steps.
pub(super) fn constant_of(
    program: &Program<'_>,
    register: Register,
    before: &[u64],
    steps: usize,
) -> Option<u32> {
    let steps = steps.checked_sub(1)?;
    let (read, before) = setter(program, register, before)?;
    let of = |register| constant_of(program, register, before, steps);
    match read.op {
        Op::Move {
            from: Source::Constant(value),
            inverts,
            ..
        } => Some(if inverts { !value } else { value }),
        Op::Move {
            from: Source::Register(from, 0),
            inverts: false,
            ..
        } if from != PC => of(from),
        Op::Top { half, .. } => Some(of(register)? & 0xffff | u32::from(half) << 16),
        Op::Load { size: 4, place, .. } => read.literal(program, place),
        Op::Add {
            left,
            right,
            subtracts: false,
            ..
        } => {
            let left = match (left, right) {
                (PC, Source::Constant(_)) => read.near(0) as u32,
                (PC, _) => read.pc() as u32,
                _ => of(left)?,
            };
            let right = match right {
                Source::Constant(value) => value,
                Source::Register(PC, 0) => read.pc() as u32,
                Source::Register(register, 0) => of(register)?,
                _ => return None,
            };
            Some(left.wrapping_add(right))
        }
        _ => None,
    }
}

/// The nearest instruction that sets a register, and those before it. `None` if control comes from elsewhere in between, or if the
/// instruction may not be executed.
pub(super) fn setter<'before>(
    program: &Program<'_>,
    register: Register,
    before: &'before [u64],
) -> Option<(Read, &'before [u64])> {
    for (index, at) in before.iter().enumerate() {
        let read = read(program, *at)?;
        let instruction = translate(program, &read)?;
        let sets = |effect: &Effect| matches!(effect, Effect::Set(set, _) if *set == register);
        if instruction.effects.iter().any(sets) {
            let is_executed = !instruction.is_conditional;
            return is_executed.then_some((read, &before[index + 1..]));
        }
        if !matches!(instruction.flow, Flow::Next | Flow::Branch) {
            return None;
        }
    }
    None
}
