//! Data processing with a constant. Manual: C4.1.92.

use super::LR;
use super::changes::Changes;
use super::word::{Word, ZERO, computed, computed_from_sp};
use crate::instruction::Operand;

/// Returns the effects of an instruction of this group at an address.
pub(super) fn changes(word: Word, at: u64) -> Option<Changes> {
    let is_64 = word.is_64();
    match word.bits(23, 3) {
        0 | 1 => Some(address(word, at)),
        2 => Some(add(word)),
        // Minimum and maximum.
        3 if word.bit(22) => (word.bits(29, 2) == 0).then(|| computed_from_one(word)),
        // addg, subg
        3 => (is_64 && !word.bit(29))
            .then(|| Changes::default().set_or_sp(word.rd(), computed_from_sp(word.rn(), ZERO))),
        // The size of an element of the mask, in the first bits.
        4 if !is_64 && word.bit(22) => None,
        // ands
        4 if word.bits(29, 2) == 3 => Some(computed_from_one(word)),
        4 => Some(Changes::default().set_or_sp(word.rd(), computed(&[word.rn()]))),
        5 => move_wide(word),
        // bfm, which keeps other bits of its register
        6 => (word.bits(29, 2) != 3 && word.bit(22) == is_64)
            .then(|| Changes::one(word.rd(), computed(&[word.rn(), word.rd()]))),
        // autiasppc, autibsppc
        _ if word.is(0xffc0_001f, 0xf380_001f) => {
            Some(Changes::one(LR, Operand::Authenticated(LR)))
        }
        // extr
        _ => (word.bits(29, 2) == 0 && word.bit(22) == is_64)
            .then(|| Changes::one(word.rd(), computed(&[word.rn(), word.rm()]))),
    }
}

fn computed_from_one(word: Word) -> Changes {
    Changes::one(word.rd(), computed(&[word.rn()]))
}

/// Returns the address that `adr` or `adrp` computes: for `adrp`, that of a page.
pub(super) fn named_address(word: Word, at: u64) -> Option<u64> {
    if !word.is(0x1f00_0000, 0x1000_0000) {
        return None;
    }
    let distance = i64::from(word.signed(5, 19)) << 2 | i64::from(word.bits(29, 2));
    Some(match word.bit(31) {
        true => (at & !0xfff).wrapping_add_signed(distance << 12),
        false => at.wrapping_add_signed(distance),
    })
}

fn address(word: Word, at: u64) -> Changes {
    let address = named_address(word, at).map_or(Operand::Unknown, Operand::Address);
    Changes::one(word.rd(), address)
}

/// Returns the constant of an addition or subtraction.
pub(super) fn summand(word: Word) -> i32 {
    let number = (word.bits(10, 12) << if word.bit(22) { 12 } else { 0 }).cast_signed();
    if word.bit(30) { -number } else { number }
}

fn add(word: Word) -> Changes {
    let value = match word.is_64() {
        true => Operand::Sum(word.rn(), summand(word)),
        false => computed_from_sp(word.rn(), ZERO),
    };
    // adds, subs
    match word.bit(29) {
        true => Changes::one(word.rd(), value),
        false => Changes::default().set_or_sp(word.rd(), value),
    }
}

fn move_wide(word: Word) -> Option<Changes> {
    let (is_64, at) = (word.is_64(), 16 * word.bits(21, 2));
    if !is_64 && at >= 32 {
        return None;
    }
    let bits = word.bits(5, 16) as u16;
    let shifted = u64::from(bits) << at;
    let number = |number: u64| {
        let number = if is_64 {
            number
        } else {
            number & u64::from(u32::MAX)
        };
        i32::try_from(number.cast_signed()).map_or(Operand::Unknown, Operand::Number)
    };
    let value = match word.bits(29, 2) {
        0 => number(!shifted),
        2 => number(shifted),
        3 if is_64 => Operand::Inserted {
            register: word.rd(),
            bits,
            at: at as u8,
        },
        3 => computed(&[word.rd()]),
        _ => return None,
    };
    Some(Changes::one(word.rd(), value))
}
