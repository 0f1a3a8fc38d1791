//! Data processing with registers. Manual: C4.1.95.

use super::changes::Changes;
use super::word::{Word, ZERO, computed, computed_from_sp, read};
use super::{LR, Register, SP};
use crate::instruction::{Effect, Operand};

/// Returns the effects of an instruction of this group.
pub(super) fn changes(word: Word) -> Option<Changes> {
    let by_two = Changes::one(word.rd(), computed(&[word.rn(), word.rm()]));
    match (word.bit(28), word.bits(21, 4)) {
        (false, 0..8) => logical(word),
        (false, group) if group & 1 == 0 => add_shifted(word),
        (false, _) => add_extended(word),
        // adc, sbc
        (true, 0) if word.bits(10, 6) == 0 => Some(by_two),
        // rmif, setf8, setf16: flags
        (true, 0) if word.bit(29) => Some(Changes::default()),
        // addpt, subpt
        (true, 0) if word.bits(13, 3) == 1 => {
            Some(Changes::default().set_or_sp(word.rd(), computed_from_sp(word.rn(), word.rm())))
        }
        // ccmp, ccmn
        (true, 2) => word.bit(29).then(Changes::default),
        (true, 4) => (!word.bit(29) && !word.bit(11)).then_some(by_two),
        (true, 6) if word.bit(30) => Some(one_source(word)),
        // irg
        (true, 6) if word.bits(10, 6) == 4 => {
            Some(Changes::default().set_or_sp(word.rd(), computed_from_sp(word.rn(), word.rm())))
        }
        // subp, whose first register may be the stack pointer
        (true, 6) if word.bits(10, 6) == 0 => {
            let from = 1 << word.rn() | 1 << word.rm();
            Some(Changes::one(word.rd(), Operand::Computed(from)))
        }
        (true, 6) => Some(by_two),
        // madd and its like
        (true, 8..) => (word.bits(29, 2) == 0).then(|| {
            let from = [word.rn(), word.rm(), word.rt2()];
            Changes::one(word.rd(), computed(&from))
        }),
        _ => None,
    }
}

/// Returns whether a word of 32 bits is shifted by more than that.
fn is_too_far(word: Word) -> bool {
    !word.is_64() && word.bit(15)
}

fn logical(word: Word) -> Option<Changes> {
    // orr without a shift, from the zero register: mov
    let is_move = word.is(0x7fe0_ffe0, 0x2a00_03e0);
    let value = match word.rm() {
        from if is_move && (word.is_64() || from == ZERO) => read(from),
        from => computed(&[word.rn(), from]),
    };
    (!is_too_far(word)).then(|| Changes::one(word.rd(), value))
}

/// The furthest shift that a value of the checker contains: constants have 32 bits.
const FURTHEST_SHIFT: u8 = 31;

fn add_shifted(word: Word) -> Option<Changes> {
    const LEFT: u32 = 0;
    let kind = word.bits(22, 2);
    if kind == 3 || is_too_far(word) {
        return None;
    }
    let (shift, subtracts) = (word.bits(10, 6) as u8, word.bit(30));
    let value = match (word.rn(), word.rm()) {
        (left, right) if kind != LEFT || !word.is_64() || shift > FURTHEST_SHIFT => {
            computed(&[left, right])
        }
        (left, ZERO) => read(left),
        (ZERO, right) if shift == 0 && !subtracts => read(right),
        (ZERO, right) => computed(&[right]),
        (left, right) => Operand::Registers {
            left,
            right,
            shift,
            subtracts,
        },
    };
    Some(Changes::one(word.rd(), value))
}

fn add_extended(word: Word) -> Option<Changes> {
    let shift = word.bits(10, 3) as u8;
    if word.bits(22, 2) != 0 || shift > 4 {
        return None;
    }
    let (left, right, subtracts) = (word.rn(), word.rm(), word.bit(30));
    // Extended from 64 bits: not at all.
    let is_whole = word.is_64() && word.bits(13, 2) == 3;
    let value = match right {
        _ if !is_whole => computed_from_sp(left, right),
        ZERO => Operand::Sum(left, 0),
        _ => Operand::Registers {
            left,
            right,
            shift,
            subtracts,
        },
    };
    if !word.bit(29) {
        return Some(Changes::default().set_or_sp(word.rd(), value));
    }
    let compares = subtracts && is_whole && shift == 0 && left == SP && right != ZERO;
    Some(match word.rd() {
        ZERO if compares => Changes::default().with(Effect::ComparesStackPointer(right)),
        to => Changes::one(to, value),
    })
}

/// Returns the effects of an instruction with one source. Instructions of pointer authentication are among these.
fn one_source(word: Word) -> Changes {
    let to = word.rd();
    let (signed, authenticated) = (Operand::Signed(to), Operand::Authenticated(to));
    match (word.bits(16, 5), word.bits(10, 6)) {
        // pacia, pacib, paciza, pacizb
        (1, 0 | 1 | 8 | 9) => Changes::one(to, signed),
        // autia, autib, autiza, autizb, xpaci
        (1, 4 | 5 | 12 | 13 | 16) => Changes::one(to, authenticated),
        // Keys for data are not those of return addresses.
        (1, 0..32) => Changes::one(to, computed(&[to])),
        // Authentication with the program counter changes fixed registers.
        (1, _) => Changes::default().forget([to, LR, INTRA_PROCEDURE_CALL]),
        _ => Changes::one(to, computed(&[word.rn()])),
    }
}

/// The register that `pacia171615` and its like change.
const INTRA_PROCEDURE_CALL: Register = 17;
