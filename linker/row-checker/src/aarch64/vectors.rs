//! Instructions of vectors and floating-point numbers. Few write general registers or memory. Manual: C4.1.96, C4.1.89, C4.1.90.

use super::changes::Changes;
use super::word::Word;
use crate::instruction::Operand;

/// Returns the effects of an instruction of vectors of fixed size, or of floating-point numbers.
pub(super) fn changes(word: Word) -> Changes {
    // smov, umov
    let moves_element = word.is(0xbfe0_fc00, 0x0e00_2c00) || word.is(0xbfe0_fc00, 0x0e00_3c00);
    match moves_element || converts(word) {
        true => Changes::one(word.rd(), Operand::Moved),
        false => Changes::default(),
    }
}

/// Returns whether the instruction converts or moves a floating-point number to a general register.
fn converts(word: Word) -> bool {
    let is_conversion = word.is(0x5f20_fc00, 0x1e20_0000);
    let is_of_fixed_point = word.is(0x5f20_0000, 0x1e00_0000);
    // scvtf, ucvtf, and fmov from a general register
    let is_from_general = matches!(word.bits(16, 3), 2 | 3 | 7);
    (is_conversion || is_of_fixed_point) && !is_from_general
}

/// Returns the effects of an instruction of scalable vectors (SVE).
pub(super) fn scalable(word: Word) -> Changes {
    let general = [
        // addvl, addpl, rdvl
        (0xff20_f000, 0x0420_5000),
        // cntb, incb, sqincb, and their like
        (0xff20_e000, 0x0420_e000),
        // lasta, lastb, clasta, clastb
        (0xff2e_e000, 0x0520_a000),
        // cntp, firstp, lastp
        (0xff38_c000, 0x2520_8000),
        // incp, sqincp, and their like
        (0xff38_c800, 0x2528_8800),
    ];
    let is_address = word.is(0xffa0_f000, 0x0420_5000);
    match word.bits(29, 3) {
        _ if is_address => Changes::default().set_or_sp(word.rd(), Operand::Moved),
        7 => stores(word),
        _ if general.iter().any(|(mask, value)| word.is(*mask, *value)) => {
            Changes::one(word.rd(), Operand::Moved)
        }
        _ => Changes::default(),
    }
}

/// Returns the effects of an instruction of matrices (SME).
pub(super) fn matrix(word: Word) -> Option<Changes> {
    match word.bits(29, 3) {
        4 => Some(Changes::default()),
        // Loads and stores of several vectors; loads and stores of parts of the matrix.
        5 | 7 => Some(stores(word)),
        // movt
        6 => Some(Changes::one(word.rd(), Operand::Moved)),
        _ => None,
    }
}

/// Returns the effects of a store, whose size depends on the processor, and whose addresses may be in a vector.
fn stores(word: Word) -> Changes {
    Changes::default().store_anywhere(word.rn())
}
