//! Loads and stores. Manual: C4.1.94.

use super::changes::Changes;
use super::ordered;
use super::word::{Word, ZERO, read};
use super::{Register, SP};
use crate::instruction::Operand;

/// Bytes of a general register.
const WORD: u32 = 8;

/// Returns the effects of a load or store.
pub(super) fn changes(word: Word) -> Option<Changes> {
    let is_vector = word.bit(26);
    match (word.bits(28, 2), word.bit(24)) {
        (0, false) if is_vector => structures(word),
        (0, true) if is_vector => Some(structure_elements(word)),
        (0, false) => ordered::exclusive(word),
        (0, true) => Some(ordered::unprivileged(word)),
        (1, false) => literal(word),
        (1, true) => ordered::changes(word),
        (2, _) => pair(word),
        (_, true) => one(word, word.bits(10, 12).cast_signed(), Mode::Scaled),
        (_, false) => match (word.bit(21), word.bits(10, 2)) {
            (false, 0) => one(word, word.signed(12, 9), Mode::Offset),
            (false, 1) => one(word, word.signed(12, 9), Mode::After),
            (false, 2) if is_vector => None,
            (false, 2) => one(word, word.signed(12, 9), Mode::Unprivileged),
            (false, _) => one(word, word.signed(12, 9), Mode::Before),
            (true, 0) => Some(ordered::atomic(word)),
            (true, 2) => one(word, 0, Mode::Indexed),
            (true, _) => authenticated(word),
        },
    }
}

/// How the address of a load or store is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// From the base register and a number of units of the access.
    Scaled,
    /// From the base register and a number of bytes.
    Offset,
    /// The same, with the rights of a program.
    Unprivileged,
    /// From the base register, to which a number of bytes is added afterwards.
    After,
    /// From the base register, to which a number of bytes has been added.
    Before,
    /// From two registers.
    Indexed,
}

/// An access of memory.
struct Access {
    base: Register,
    /// Bytes from the base register.
    offset: i32,
    /// Bytes that are added to the base register.
    moves: Option<i32>,
}

impl Access {
    fn new(base: Register, number: i32, mode: Mode) -> Self {
        match mode {
            Mode::After => Self {
                base,
                offset: 0,
                moves: Some(number),
            },
            Mode::Before => Self {
                base,
                offset: number,
                moves: Some(number),
            },
            _ => Self {
                base,
                offset: number,
                moves: None,
            },
        }
    }

    /// Moves the base register. The manual leaves its value open if the access writes the same register.
    fn write_back(&self, changes: Changes) -> Changes {
        match self.moves {
            Some(by) => changes.set_or_sp(self.base, Operand::Sum(self.base, by)),
            None => changes,
        }
    }

    /// Returns whether an accessed register is the base register, which is moved.
    fn conflicts(&self, register: Register) -> bool {
        self.moves.is_some() && self.base == register && self.base != SP
    }

    /// Returns the value of a stored register.
    fn stored(&self, register: Register) -> Operand {
        match self.conflicts(register) {
            true => Operand::Unknown,
            false => read(register),
        }
    }

    /// Returns the word that is loaded to a register.
    fn loaded(&self, register: Register, offset: i32) -> Operand {
        match self.conflicts(register) {
            true => Operand::Unknown,
            false => Operand::Load(self.base, self.offset + offset),
        }
    }
}

/// Returns the effects of a load or store of one register.
fn one(word: Word, number: i32, mode: Mode) -> Option<Changes> {
    let (is_vector, size, operation) = (word.bit(26), word.bits(30, 2), word.bits(22, 2));
    let scale = match (is_vector, operation & 2 != 0, size) {
        (true, true, 0) => 4,
        (true, true, _) => return None,
        _ => size,
    };
    let is_prefetch = !is_vector && size == 3 && operation == 2;
    let is_moved = matches!(mode, Mode::After | Mode::Before | Mode::Unprivileged);
    if !is_vector && size >= 2 && operation == 3 || is_prefetch && is_moved {
        return None;
    }
    if is_prefetch {
        return Some(Changes::default());
    }
    let count = 1 << scale;
    let number = if mode == Mode::Scaled {
        number << scale
    } else {
        number
    };
    let access = Access::new(word.rn(), number, mode);
    // With the zero register as index, the address is that of the base register.
    let is_indexed = mode == Mode::Indexed && word.rm() != ZERO;
    let is_word = !is_vector && size == 3 && mode != Mode::Unprivileged;
    let register = word.rd();
    if operation & 1 == 0 && (is_vector || operation == 0) {
        let changes = match is_word {
            _ if is_indexed => Changes::default().store_anywhere(access.base),
            true => {
                let value = access.stored(register);
                Changes::default().store(access.base, access.offset, WORD, value)
            }
            false => Changes::default().store(access.base, access.offset, count, Operand::Unknown),
        };
        return Some(access.write_back(changes));
    }
    let changes = access.write_back(Changes::default());
    let value = match is_word {
        true if is_indexed => Operand::Word,
        true => access.loaded(register, 0),
        false => Operand::Unknown,
    };
    Some(if is_vector {
        changes
    } else {
        changes.set(register, value)
    })
}

/// Returns the effects of a load or store of two registers.
fn pair(word: Word) -> Option<Changes> {
    let (is_vector, size, is_load) = (word.bit(26), word.bits(30, 2), word.bit(22));
    let mode = match word.bits(23, 2) {
        1 => Mode::After,
        3 => Mode::Before,
        _ => Mode::Offset,
    };
    // Bytes of a register; bytes that the constant counts.
    let (count, unit) = match (is_vector, size) {
        (true, 3) => (16, 16),
        (true, _) => (4 << size, 4 << size),
        (false, 0) => (4, 4),
        // ldpsw; stgp, which stores a tag, too
        (false, 1) if word.bits(23, 2) == 0 => return None,
        (false, 1) if is_load => (4, 4),
        (false, 1) => (WORD, 16),
        // Those of 3 have the rights of a program.
        (false, _) => (WORD, 8),
    };
    let access = Access::new(word.rn(), word.signed(15, 7) * unit, mode);
    let (first, second) = (word.rd(), word.rt2());
    let is_word = !is_vector && count == WORD && size != 3;
    let after = access.offset + count.cast_signed();
    if !is_load {
        let changes = match is_word {
            true => Changes::default()
                .store(access.base, access.offset, WORD, access.stored(first))
                .store(access.base, after, WORD, access.stored(second)),
            false => {
                Changes::default().store(access.base, access.offset, 2 * count, Operand::Unknown)
            }
        };
        return Some(access.write_back(changes));
    }
    let changes = access.write_back(Changes::default());
    Some(match is_word && first != second {
        _ if is_vector => changes,
        true => {
            let second_word = access.loaded(second, count.cast_signed());
            changes
                .set(first, access.loaded(first, 0))
                .set(second, second_word)
        }
        false => changes.forget([first, second]),
    })
}

/// Returns the effects of a load from an address that the instruction names.
fn literal(word: Word) -> Option<Changes> {
    let (is_vector, size) = (word.bit(26), word.bits(30, 2));
    match size {
        // A prefetch.
        3 if !is_vector => Some(Changes::default()),
        3 => None,
        _ if is_vector => Some(Changes::default()),
        _ => Some(Changes::default().forget([word.rd()])),
    }
}

/// Returns the bytes beside the code that an instruction loads: from one address to another.
pub(super) fn literal_bytes(word: Word, at: u64) -> Option<(u64, u64)> {
    if !word.is(0x3b00_0000, 0x1800_0000) {
        return None;
    }
    let bytes = match (word.bit(26), word.bits(30, 2)) {
        (_, 3) => return None,
        (false, 2) => 4,
        (_, size) => 4 << size,
    };
    let from = at.wrapping_add_signed(i64::from(word.signed(5, 19)) * 4);
    Some((from, from.wrapping_add(bytes)))
}

/// Returns the effects of a load from an authenticated address.
fn authenticated(word: Word) -> Option<Changes> {
    if word.bit(26) || word.bits(30, 2) != 3 {
        return None;
    }
    let changes = match word.bit(11) {
        true => Changes::default().set_or_sp(word.rn(), Operand::Unknown),
        false => Changes::default(),
    };
    Some(changes.forget([word.rd()]))
}

/// Returns the effects of a load or store of whole vectors.
fn structures(word: Word) -> Option<Changes> {
    let vectors = match word.bits(12, 4) {
        0 | 2 => 4,
        4 | 6 => 3,
        8 | 10 => 2,
        7 => 1,
        _ => return None,
    };
    let count = vectors * if word.bit(30) { 16 } else { 8 };
    (!word.bit(31)).then(|| structure(word, count))
}

/// Returns the effects of a load or store of one element of each vector.
fn structure_elements(word: Word) -> Changes {
    let elements = (word.bits(13, 1) << 1 | word.bits(21, 1)) + 1;
    let size = match word.bits(14, 2) {
        0 => 1,
        1 => 2,
        2 if word.bits(10, 2) == 0 => 4,
        2 => 8,
        // Loads to all elements.
        _ => 1 << word.bits(10, 2),
    };
    structure(word, elements * size)
}

fn structure(word: Word, count: u32) -> Changes {
    let (is_moved, base, right) = (word.bit(23), word.rn(), word.rm());
    let changes = match word.bit(22) {
        true => Changes::default(),
        false => Changes::default().store(base, 0, count, Operand::Unknown),
    };
    let value = match right {
        ZERO => Operand::Sum(base, count.cast_signed()),
        _ => Operand::Registers {
            left: base,
            right,
            shift: 0,
            subtracts: false,
        },
    };
    if is_moved {
        changes.set_or_sp(base, value)
    } else {
        changes
    }
}
