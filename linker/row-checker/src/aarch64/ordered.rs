//! Loads and stores that are exclusive, ordered or atomic, of tags, and of blocks of memory. Manual: C4.1.94.

use super::Register;
use super::changes::Changes;
use super::word::{Word, read};
use crate::instruction::Operand;

/// Returns the effects of an exclusive or ordered access, or of a compare and swap.
pub(super) fn exclusive(word: Word) -> Option<Changes> {
    let (size, base) = (word.bits(30, 2), word.rn());
    let count = 1 << size;
    let is_load = word.bit(22);
    let stored = Changes::default().store(base, 0, count, Operand::Unknown);
    Some(match (word.bit(23), word.bit(21)) {
        // stxr
        (false, false) if !is_load => stored.forget([word.rm()]),
        // casp: two registers, the first of which has an even number
        (false, true) if size < 2 => {
            let pair = [word.rm(), word.rm() | 1];
            Changes::default()
                .store(base, 0, 8 << size, Operand::Unknown)
                .forget(pair)
        }
        // stxp
        (false, true) if !is_load => Changes::default()
            .store(base, 0, 2 * count, Operand::Unknown)
            .forget([word.rm()]),
        // ldxp
        (false, true) => Changes::default().forget([word.rd(), word.rt2()]),
        // cas
        (true, true) => stored.forget([word.rm()]),
        // stlr
        (true, false) if !is_load => store(word, 0),
        // ldxr, ldar
        (_, false) => load(word, 0),
    })
}

/// Returns the effects of a store of one register.
fn store(word: Word, offset: i32) -> Changes {
    let size = word.bits(30, 2);
    let value = if size == 3 {
        read(word.rd())
    } else {
        Operand::Unknown
    };
    Changes::default().store(word.rn(), offset, 1 << size, value)
}

/// Returns the effects of a load of one register.
fn load(word: Word, offset: i32) -> Changes {
    let value = match word.bits(30, 2) {
        3 => Operand::Load(word.rn(), offset),
        _ => Operand::Unknown,
    };
    Changes::one(word.rd(), value)
}

/// Returns the effects of an exclusive access, or a compare and swap, with the rights of a program. Like [`pairs`], this writes all that
/// any instruction of the group writes.
pub(super) fn unprivileged(word: Word) -> Changes {
    pairs(word).forget([word.rt2()])
}

/// Returns the effects of an atomic operation on two registers, or on translation tables. Any instruction of the group writes registers
/// of these, and at most 16 bytes.
fn pairs(word: Word) -> Changes {
    let (first, second) = (word.rd(), word.rm());
    Changes::default()
        .store(word.rn(), 0, 16, Operand::Unknown)
        .forget([first, first | 1, second, second | 1])
}

/// Returns the effects of an access from the groups that newer versions of the architecture added.
pub(super) fn changes(word: Word) -> Option<Changes> {
    let (is_vector, size) = (word.bit(26), word.bits(30, 2));
    match (word.bit(21), word.bits(10, 2)) {
        (false, 1) => Some(blocks(word)),
        (true, _) if is_vector => None,
        (true, _) if size == 3 => tags(word),
        (true, _) => Some(pairs(word)),
        (false, 0) if is_vector => None,
        (false, 0) => unscaled(word),
        // Vectors have the size in two fields.
        (false, 2) if is_vector => {
            let count = 1 << (size | word.bits(23, 1) << 2);
            Some(match word.bit(22) {
                true => Changes::default(),
                false => {
                    Changes::default().store(word.rn(), word.signed(12, 9), count, Operand::Unknown)
                }
            })
        }
        (false, 2) => Some(ordered_pair(word)),
        // gcsstr, gcssttr: a store to the shadow stack
        (false, _) if !is_vector && size == 3 => {
            Some(Changes::default().store(word.rn(), 0, 8, Operand::Unknown))
        }
        (false, _) => None,
    }
}

/// Returns the effects of `stlur`, `ldapur` and their like.
fn unscaled(word: Word) -> Option<Changes> {
    let (size, operation, offset) = (word.bits(30, 2), word.bits(22, 2), word.signed(12, 9));
    match operation {
        0 => Some(store(word, offset)),
        1 => Some(load(word, offset)),
        // Loads that extend the sign.
        _ if size == 3 || size == 2 && operation == 3 => None,
        _ => Some(Changes::default().forget([word.rd()])),
    }
}

/// Returns the effects of an ordered access of two registers, or of one that moves the base register.
fn ordered_pair(word: Word) -> Changes {
    let is_moved = word.bits(12, 4) == 0;
    let changes = match word.bit(22) {
        true => Changes::default(),
        // From 16 bytes before the base register, to which it is moved, to 16 bytes after it.
        false => Changes::default().store(word.rn(), -16, 32, Operand::Unknown),
    };
    let changes = match is_moved {
        true => changes.set_or_sp(word.rn(), Operand::Unknown),
        false => changes,
    };
    let is_pair = !word.bit(23);
    match word.bit(22) {
        true if is_pair => changes.forget([word.rd(), word.rm()]),
        true => changes.forget([word.rd()]),
        false => changes,
    }
}

/// Returns the effects of an access of memory tags.
fn tags(word: Word) -> Option<Changes> {
    let (operation, mode, base) = (word.bits(22, 2), word.bits(10, 2), word.rn());
    let offset = word.signed(12, 9) * 16;
    if mode == 0 {
        return match operation {
            // ldg, ldgm
            1 | 3 => Some(Changes::default().forget([word.rd()])),
            // stzgm, stgm: a block of a size that the processor chooses, which contains the address
            _ => Some(block(base)),
        };
    }
    // stg, stzg, st2g, stz2g
    let count = if operation & 2 == 0 { 16 } else { 32 };
    const AFTER: u32 = 1;
    const BEFORE: u32 = 3;
    let at = if mode == AFTER { 0 } else { offset };
    let changes = Changes::default().store(base, at, count, Operand::Unknown);
    Some(match mode {
        AFTER | BEFORE => changes.set_or_sp(base, Operand::Sum(base, offset)),
        _ => changes,
    })
}

/// The size of the largest block that one instruction zeroes or gives tags.
const LARGEST_BLOCK: u32 = 2048;

/// Returns the effects of a store to the whole block that contains an address.
pub(super) fn block(base: Register) -> Changes {
    let before = LARGEST_BLOCK - 1;
    Changes::default().store(
        base,
        -before.cast_signed(),
        before + LARGEST_BLOCK,
        Operand::Unknown,
    )
}

/// Returns the effects of an instruction that copies or sets a block of memory.
fn blocks(word: Word) -> Changes {
    const SET: u32 = 3;
    let (operation, to, count, from) = (word.bits(22, 2), word.rd(), word.rn(), word.rm());
    // The first of three instructions has the start of the memory in the register. The others may have its end there.
    let changes = Changes::default().store_anywhere(to);
    match operation {
        SET => changes.forget([to, count]),
        _ => changes.forget([to, count, from]),
    }
}

/// Returns the effects of an atomic operation on memory.
pub(super) fn atomic(word: Word) -> Changes {
    let (is_vector, size, base) = (word.bit(26), word.bits(30, 2), word.rn());
    let (is_swap, operation) = (word.bit(15), word.bits(12, 3));
    let writes = |count| Changes::default().store(base, 0, count, Operand::Unknown);
    match (is_swap, operation) {
        // Numbers of 16 bits have the size of bytes, too.
        _ if is_vector => writes(2.max(1 << size)),
        (false, _) | (true, 0) => writes(1 << size).forget([word.rd()]),
        // ldapr
        (true, 4) => load(word, 0),
        // ld64b
        (true, 5) => Changes::default().forget(eight(word.rd())),
        // st64b
        (true, 1) if size == 3 => writes(64),
        // st64bv, st64bv0
        (true, 2 | 3) if size == 3 => writes(64).forget([word.rm()]),
        // Accesses of translation tables: rcwclr, rcwswp, rcwset.
        (true, 1..=3) => writes(8).forget([word.rd()]),
        (true, _) => writes(64).forget([word.rd(), word.rm()]),
    }
}

/// Returns eight registers from the first one on.
fn eight(first: Register) -> std::ops::Range<Register> {
    first..first.saturating_add(8).min(31)
}
