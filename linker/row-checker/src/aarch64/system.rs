//! System instructions: hints, barriers, system registers, and operations of caches. Manual: C4.1.93, C5.

use super::changes::Changes;
use super::ordered;
use super::word::{Word, read};
use super::{ELR_ABOVE, ELR_EL1, LR, Register, SP, SP_EL0, VBAR_EL1};
use crate::instruction::{Effect, Operand};

/// Returns the number of a system register in an instruction, from the fields of its name: `S<op0>_<op1>_C<n>_C<m>_<op2>`.
const fn encoding(op0: u32, op1: u32, n: u32, m: u32, op2: u32) -> u32 {
    op0 << 14 | op1 << 11 | n << 7 | m << 3 | op2
}

const ELR_OF_EL1: u32 = encoding(3, 0, 4, 0, 1);
/// The same register, by its name at a higher level.
const ELR_OF_EL12: u32 = encoding(3, 5, 4, 0, 1);
/// The register of a level above, which has the name of EL1's there if EL2 runs an operating system.
const ELR_OF_EL2: u32 = encoding(3, 4, 4, 0, 1);
const ELR_OF_EL3: u32 = encoding(3, 6, 4, 0, 1);
const SP_OF_EL0: u32 = encoding(3, 0, 4, 1, 0);
const SP_OF_EL1: u32 = encoding(3, 4, 4, 1, 0);
const SPSEL: u32 = encoding(3, 0, 4, 2, 0);
const VBAR_OF_EL1: u32 = encoding(3, 0, 12, 0, 0);
const DAIF: u32 = encoding(3, 3, 4, 2, 1);
const ALLINT: u32 = encoding(3, 0, 4, 3, 0);

/// Returns whether the instruction is `nop`.
pub(super) fn is_nop(word: Word) -> bool {
    word.0 == 0xd503_201f
}

/// Returns the effects of a system instruction.
pub(super) fn changes(word: Word) -> Option<Changes> {
    let loads = word.bit(21);
    match word.bits(22, 2) {
        0 => {}
        // mrrs
        1 if loads => return Some(Changes::default().forget([word.rd(), word.rd() | 1])),
        // msrr, sysp
        1 => return Some(writes(word, Operand::Unknown)),
        _ => return None,
    }
    match word.bits(19, 2) {
        0 if word.is(0xffff_f01f, 0xd503_201f) => Some(hint(word.bits(5, 7))),
        // Barriers, in 0xd503_3000; wfet and wfit, in 0xd503_1000.
        0 if word.is(0xffff_d000, 0xd503_1000) => Some(Changes::default()),
        // msr with a constant; cfinv
        0 if word.is(0xfff8_f01f, 0xd500_401f) => Some(constant(word)),
        // tstart, ttest
        0 => loads.then(|| Changes::default().forget([word.rd()])),
        // sysl, gcspopm
        1 if loads => Some(Changes::default().forget([word.rd()])),
        1 => Some(operation(word)),
        _ if loads => Some(Changes::one(word.rd(), reads(word))),
        _ => Some(writes(word, read(word.rd()))),
    }
}

/// Returns the effects of a hint. Some are instructions of pointer authentication, which older processors execute as `nop`.
fn hint(number: u32) -> Changes {
    const X16: Register = 16;
    const X17: Register = 17;
    match number {
        // xpaclri
        7 => Changes::one(LR, Operand::Authenticated(LR)),
        // pacia1716, pacib1716
        8 | 10 => Changes::one(X17, Operand::Signed(X17)),
        // autia1716, autib1716
        12 | 14 => Changes::one(X17, Operand::Authenticated(X17)),
        // paciaz, paciasp, pacibz, pacibsp
        24..=27 => Changes::one(LR, Operand::Signed(LR)),
        // autiaz, autiasp, autibz, autibsp
        28..=31 => Changes::one(LR, Operand::Authenticated(LR)),
        // chkfeat
        40 => Changes::one(X16, Operand::Unknown),
        _ => Changes::default(),
    }
}

/// Returns the effects of writing a constant to a field of the processor's state.
fn constant(word: Word) -> Changes {
    match (word.bits(16, 3), word.bits(5, 3)) {
        // spsel
        (0, 5) => other_stack(),
        // daifclr; allint and pm
        (3, 7) | (1, 0) => unmasked(),
        _ => Changes::default(),
    }
}

/// Returns the effects of selecting another stack pointer. One of the two is `SP_EL0`, which the code changes by the name of `sp` then.
fn other_stack() -> Changes {
    Changes::default()
        .with(Effect::Set(SP, Operand::Unknown))
        .forget([SP_EL0])
}

/// Returns the effects of letting interrupts in, each of which overwrites the address that an earlier one returns to.
fn unmasked() -> Changes {
    Changes::default().forget([ELR_EL1])
}

/// Returns the effects of an operation of caches or address translation.
fn operation(word: Word) -> Changes {
    // dc zva, dc gva, dc gzva, dc gbva, dc zgbva: a block is written, which contains the address
    if !word.is(0xffff_ff00, 0xd50b_7400) {
        return Changes::default();
    }
    match word.rd() {
        // The address 0.
        31 => Changes::default(),
        base => ordered::block(base),
    }
}

/// Returns the value of the system register that the instruction reads.
fn reads(word: Word) -> Operand {
    match word.bits(5, 16) {
        ELR_OF_EL1 => Operand::Sum(ELR_EL1, 0),
        SP_OF_EL0 => Operand::Sum(SP_EL0, 0),
        _ => Operand::Unknown,
    }
}

/// Returns the effects of writing a value to a system register.
fn writes(word: Word, value: Operand) -> Changes {
    match word.bits(5, 16) {
        ELR_OF_EL1 => Changes::one(ELR_EL1, value),
        ELR_OF_EL12 => Changes::one(ELR_EL1, Operand::Unknown),
        ELR_OF_EL2 => Changes::one(ELR_EL1, Operand::Unknown).set(ELR_ABOVE, value),
        ELR_OF_EL3 => Changes::one(ELR_ABOVE, value),
        DAIF | ALLINT => unmasked(),
        SP_OF_EL0 => Changes::one(SP_EL0, value),
        // For code at EL1 that uses `SP_EL0`.
        SP_OF_EL1 => Changes::default().forget([SP_EL0]),
        VBAR_OF_EL1 => Changes::one(VBAR_EL1, value),
        SPSEL => other_stack(),
        _ => Changes::default(),
    }
}
