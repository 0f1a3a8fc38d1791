//! Finds the tables of indirect jumps.

use arm_instructions::{Op, PC, Place, Register, SP, Source};

use super::constants::{constant_of, setter};
use super::read::{Read, read};
use crate::instruction::{IndirectJump, TableBase, TableForm};
use crate::program::Program;

/// Instructions of T32 tables count halves.
const HALF: u8 = 2;
/// The frame pointer of A32.
const FP: Register = 11;
/// Steps from a jump to the load of its entry at most.
const STEPS: usize = 6;

/// Describes how an indirect jump finds its target.
pub(super) fn indirect_jump(program: &Program<'_>, at: u64, before: &[u64]) -> IndirectJump {
    let Some(read) = read(program, at) else {
        return IndirectJump::default();
    };
    let found = match read.op {
        Op::Table { base, size, .. } => Some(by_entries(&read, base, size)),
        Op::Load {
            to: PC,
            size: 4,
            place,
            ..
        } => by_load(program, &read, place, before),
        Op::Add {
            to: PC,
            left,
            right,
            ..
        } => added(program, &read, left, right, before),
        Op::JumpTo(register) => search(program, register, before, STEPS),
        _ => None,
    };
    let found = found.unwrap_or_else(|| any(program, &read, before));
    match read.op {
        Op::JumpTo(register) => IndirectJump {
            register: Some(register),
            ..found
        },
        _ => found,
    }
}

/// A jump by `tbb` or `tbh`: entries count halves from the address after the instruction on.
fn by_entries(read: &Read, base: Register, size: u8) -> IndirectJump {
    IndirectJump {
        forms: vec![TableForm {
            size,
            signed: false,
            scale: HALF,
            base: TableBase::At(read.pc()),
        }],
        table: (base == PC).then(|| read.pc()),
        is_indexed: true,
        counts_from_labels: true,
        ..IndirectJump::default()
    }
}

/// An indexed load of a table's entry.
#[derive(Clone, Copy)]
struct Entry {
    size: u8,
    signed: bool,
    /// The table, if the load names it.
    table: Option<u64>,
    /// See [`IndirectJump::pointer`].
    pointer: Option<(u64, Register)>,
}

impl Entry {
    fn jump(self, scale: u8, base: TableBase) -> IndirectJump {
        IndirectJump {
            forms: vec![TableForm {
                size: self.size,
                // A word is added, and wraps.
                signed: self.signed || self.size == 4,
                scale,
                base,
            }],
            table: self.table,
            pointer: self.pointer,
            is_indexed: true,
            counts_from_labels: base != TableBase::Zero,
            ..IndirectJump::default()
        }
    }
}

/// The entry that a load reads, if an index is added to its base, in the load or before it.
fn loaded(program: &Program<'_>, read: &Read, place: Place, before: &[u64]) -> Option<Entry> {
    let Op::Load { size, signed, .. } = read.op else {
        return None;
    };
    let entry = |at, base| Entry {
        size,
        signed,
        table: (base == PC).then(|| read.pc() & !3),
        pointer: (base != PC).then_some((at, base)),
    };
    let counts = |index: Register, shift: u8, before| {
        let stride = stride(program, index, before)?.checked_mul(1 << shift)?;
        (stride == u64::from(size)).then_some(())
    };
    match place.offset {
        // Other indices do not count entries.
        Source::Register(index, shift) => {
            counts(index, shift, before)?;
            Some(entry(read.at, place.base))
        }
        Source::Other => None,
        Source::Constant(_) => {
            let (sum, before) = setter(program, place.base, before)?;
            // Of the base and a shifted index. A sum with another register may be a position in a structure.
            let Op::Add {
                left,
                right: Source::Register(right, shift),
                subtracts: false,
                ..
            } = sum.op
            else {
                return None;
            };
            match counts(right, shift, before) {
                Some(()) => Some(entry(sum.at, left)),
                None if shift == 0 => {
                    counts(left, 0, before)?;
                    Some(entry(sum.at, right))
                }
                None => None,
            }
        }
    }
}

/// A jump to what a load reads: a table's entry, or an import.
fn by_load(
    program: &Program<'_>,
    read: &Read,
    place: Place,
    before: &[u64],
) -> Option<IndirectJump> {
    let import = IndirectJump {
        is_import: true,
        ..IndirectJump::default()
    };
    match loaded(program, read, place, before) {
        Some(entry) => Some(entry.jump(1, TableBase::Zero)),
        None => is_import(program, read, place, before).then_some(import),
    }
}

/// Returns by how many bytes a register changes if the number changes by one from which the register is computed, as far as the instructions
/// before show. `before` has the nearest first.
fn stride(program: &Program<'_>, mut register: Register, mut before: &[u64]) -> Option<u64> {
    let mut stride = 1_u64;
    while let Some((read, rest)) = setter(program, register, before) {
        before = rest;
        let (from, factor): (Register, u64) = match read.op {
            Op::Move {
                from: Source::Register(from, shift),
                inverts: false,
                ..
            } => (from, 1 << shift),
            Op::Add {
                left,
                right: Source::Register(right, shift),
                subtracts: false,
                ..
            } if left == right => (left, (1 << shift) + 1),
            Op::Add {
                left,
                right: Source::Constant(_),
                ..
            }
            | Op::And { left, .. } => (left, 1),
            Op::Low { from, .. } => (from, 1),
            Op::Add { .. } => return None,
            // A number that is loaded or computed in a different way. Compilers multiply two numbers to divide one of them.
            _ => break,
        };
        register = from;
        stride = stride.checked_mul(factor)?;
    }
    Some(stride)
}

/// Finds the load of the entry that a register holds, and what is done to the entry between the load and the jump.
fn search(
    program: &Program<'_>,
    register: Register,
    before: &[u64],
    steps: usize,
) -> Option<IndirectJump> {
    let steps = steps.checked_sub(1)?;
    let (read, before) = setter(program, register, before)?;
    match read.op {
        Op::Load { place, .. } => by_load(program, &read, place, before),
        Op::Move {
            from: Source::Register(from, shift),
            inverts: false,
            ..
        } => scaled(search(program, from, before, steps)?, shift),
        // An entry whose lowest bit is set, for T32.
        Op::Add {
            left,
            right: Source::Constant(1),
            subtracts: false,
            ..
        } => search(program, left, before, steps),
        Op::Add {
            left,
            right: Source::Register(right, shift),
            subtracts: false,
            ..
        } => sum(program, &read, (left, right, shift), before, steps),
        _ => None,
    }
}

/// A jump to the sum of the program counter and a register, or of two registers.
fn added(
    program: &Program<'_>,
    read: &Read,
    left: Register,
    right: Source,
    before: &[u64],
) -> Option<IndirectJump> {
    let Source::Register(right, shift) = right else {
        return None;
    };
    let by_table = sum(program, read, (left, right, shift), before, STEPS);
    match by_table {
        None if left == PC && !read.is_thumb && shift == 2 && is_list(program, read.pc()) => {
            Some(IndirectJump {
                forms: vec![TableForm {
                    size: 4,
                    signed: false,
                    scale: 1,
                    base: TableBase::Inline,
                }],
                table: Some(read.pc()),
                is_indexed: true,
                counts_from_labels: true,
                ..IndirectJump::default()
            })
        }
        found => found,
    }
}

/// Whether a list of branches starts at an address: at least two. A single branch is no evidence of a list.
fn is_list(program: &Program<'_>, start: u64) -> bool {
    let is_branch = |at| {
        let read = read(program, at);
        read.is_some_and(|read| matches!(read.op, Op::Jump(_)) && read.condition.is_always())
    };
    is_branch(start) && is_branch(start + 4)
}

/// A sum of which one part is an entry, and the other one what entries are added to.
fn sum(
    program: &Program<'_>,
    read: &Read,
    (left, right, shift): (Register, Register, u8),
    before: &[u64],
    steps: usize,
) -> Option<IndirectJump> {
    let with = |entry: Register, shift: u8, other: Register| {
        let found = search(program, entry, before, steps)?;
        let mut found = scaled(found, shift)?;
        let base = match other {
            PC => TableBase::At(read.pc()),
            _ => TableBase::Named,
        };
        let form = found.forms.first_mut()?;
        (form.base == TableBase::Zero).then(|| form.base = base)?;
        found.counts_from_labels = true;
        found.label = (other != PC).then_some((read.at, other));
        Some(found)
    };
    let by_right = (right != PC).then(|| with(right, shift, left)).flatten();
    by_right.or_else(|| {
        (left != PC && shift == 0)
            .then(|| with(left, 0, right))
            .flatten()
    })
}

/// The jump whose entries are shifted left after they are loaded.
fn scaled(mut jump: IndirectJump, shift: u8) -> Option<IndirectJump> {
    for form in &mut jump.forms {
        // Of a sum, not of an entry.
        if shift != 0 && form.base != TableBase::Zero {
            return None;
        }
        form.scale = form.scale.checked_mul(1_u8.checked_shl(shift.into())?)?;
    }
    Some(jump)
}

/// Whether a load reads one word at a constant address.
fn is_import(program: &Program<'_>, read: &Read, place: Place, before: &[u64]) -> bool {
    if !matches!(read.op, Op::Load { size: 4, .. }) {
        return false;
    }
    match (place.base, place.offset) {
        (PC, Source::Constant(_)) => true,
        (base, Source::Constant(_)) => constant_of(program, base, before, STEPS).is_some(),
        _ => false,
    }
}

/// Whether arithmetic in the instructions before a jump computes its target, which is in a register. If these instructions do not set that
/// register, also returns it, as a bit: see [`IndirectJump::unset`].
fn computed(program: &Program<'_>, mut register: Register, mut before: &[u64]) -> (bool, u64) {
    while let Some((read, rest)) = setter(program, register, before) {
        match read.op {
            Op::Move {
                from: Source::Register(from, 0),
                inverts: false,
                ..
            } if from != PC => (register, before) = (from, rest),
            // A word of the stack may be a sum.
            Op::Load {
                to,
                size: 4,
                place: Place { base, .. },
                ..
            } if to == register => return (matches!(base, SP | FP), 0),
            Op::Multiple { base, .. }
            | Op::Pair {
                place: Place { base, .. },
                ..
            } if base != register => return (matches!(base, SP | FP), 0),
            _ => {
                let is_constant = constant_of(program, register, before, STEPS).is_some();
                return (!is_constant, 0);
            }
        }
    }
    (false, 1 << register)
}

/// The forms of table that a jump can read if its load is not found: words, which are addresses, or are added to what the jump adds.
fn any(program: &Program<'_>, read: &Read, before: &[u64]) -> IndirectJump {
    let word = |base| TableForm {
        size: 4,
        signed: true,
        scale: 1,
        base,
    };
    let forms = match read.op {
        Op::Load { .. } => vec![word(TableBase::Zero)],
        Op::JumpTo(_) => vec![word(TableBase::Zero), word(TableBase::Named)],
        Op::Add {
            left: PC,
            right: Source::Register(_, 0),
            ..
        }
        | Op::Add {
            right: Source::Register(PC, 0),
            ..
        } => vec![word(TableBase::At(read.pc()))],
        Op::Add { .. } => vec![word(TableBase::Named)],
        _ => Vec::new(),
    };
    let (is_computed, unset) = match read.op {
        Op::Add { .. } => (true, 0),
        Op::JumpTo(register) => computed(program, register, before),
        _ => (false, 0),
    };
    IndirectJump {
        forms,
        is_computed,
        unset,
        ..IndirectJump::default()
    }
}
