//! Addresses of code and data that instructions name.

use super::immediate;
use super::memory::literal_bytes;
use super::word::{Word, ZERO};
use super::{decode, word};
use crate::instruction::{Effect, Named, Register};
use crate::program::Program;

/// A constant in a register: an address, or a part of one.
#[derive(Clone, Copy)]
struct Part {
    value: u64,
    /// It is an address, or a page. The constants of relocatable code are none.
    is_address: bool,
}

/// The constants in registers. Followed in the order of the addresses, whatever control does.
type Parts = [Option<Part>; 32];

/// Returns the addresses that the instructions of one function name.
pub(super) fn named(program: &Program<'_>, instructions: &[u64]) -> Vec<Named> {
    let mut parts: Parts = [None; 32];
    let mut all = Vec::new();
    for &at in instructions {
        let Some(word) = word(program, at) else {
            continue;
        };
        let (result, is_complete) = match result(program, word, at, &parts) {
            Some((part, is_complete)) => (Some(part), is_complete),
            None => (None, false),
        };
        let is_named =
            |part: &Part| is_complete && part.is_address && program.section(part.value).is_some();
        if let Some(Part { value: address, .. }) = result.filter(is_named) {
            all.push(Named {
                at,
                address,
                is_relative: immediate::named_address(word, at).is_some(),
            });
        }
        keep(word, at, result, &mut parts);
    }
    all
}

/// Returns the constant that a register contains after these instructions, the nearest first.
pub(super) fn constant(program: &Program<'_>, register: Register, before: &[u64]) -> Option<u64> {
    let mut parts: Parts = [None; 32];
    for &at in before.iter().rev() {
        let word = word(program, at)?;
        // Code may write to a word outside of code, so that it is no constant.
        let is_fixed = |(from, _)| program.code(from).is_some();
        let is_constant = literal_bytes(word, at).is_none_or(is_fixed);
        let result = result(program, word, at, &parts).filter(|_| is_constant);
        keep(word, at, result.map(|(part, _)| part), &mut parts);
    }
    Some((*parts.get(usize::from(register))?)?.value)
}

/// Keeps the result of an instruction in the register that the instruction sets.
fn keep(word: Word, at: u64, result: Option<Part>, parts: &mut Parts) {
    let effects = decode(word, at).map(|instruction| instruction.effects);
    for effect in effects.unwrap_or_default() {
        if let Effect::Set(register, _) = effect
            && let Some(part) = parts.get_mut(usize::from(register))
        {
            *part = result.filter(|_| register == word.rd());
        }
    }
}

/// Returns the address or constant that the instruction computes, and whether it may be all of an address.
fn result(program: &Program<'_>, word: Word, at: u64, parts: &Parts) -> Option<(Part, bool)> {
    let part = |register: Register| parts[usize::from(register)];
    let address = |value| Part {
        value,
        is_address: true,
    };
    // An instruction of 32 bits makes the upper half of its register 0.
    let sized = |value: u64, is_wide: bool| match is_wide {
        true => value,
        false => value & u64::from(u32::MAX),
    };
    if let Some(value) = immediate::named_address(word, at) {
        let is_page = word.bit(31);
        return Some((address(value), !is_page));
    }
    // add or sub of a constant, without flags
    if word.is(0x3f80_0000, 0x1100_0000) {
        let left = part(word.rn())?;
        let value = (left.value).wrapping_add_signed(immediate::summand(word).into());
        let value = sized(value, word.bit(31));
        return Some((Part { value, ..left }, true));
    }
    // The same of a register, perhaps shifted.
    if word.is(0x3fe0_0000, 0x0b00_0000) {
        let (left, right) = (part(word.rn())?, part(word.rm())?);
        let right_value = right.value << word.bits(10, 6);
        let value = match word.bit(30) {
            true => left.value.wrapping_sub(right_value),
            false => left.value.wrapping_add(right_value),
        };
        let value = sized(value, word.bit(31));
        let is_address = left.is_address || right.is_address;
        return Some((Part { value, is_address }, true));
    }
    // mov
    if word.is(0x7fe0_ffe0, 0x2a00_03e0) && word.rm() != ZERO {
        let part = part(word.rm())?;
        let value = sized(part.value, word.bit(31));
        return Some((Part { value, ..part }, false));
    }
    // movn, movz; movk
    let is_constant = word.is(0x1f80_0000, 0x1280_0000) && word.bits(29, 2) != 1;
    if is_constant {
        let at = 16 * word.bits(21, 2);
        let bits = u64::from(word.bits(5, 16)) << at;
        let value = match word.bits(29, 2) {
            0 => !bits,
            2 => bits,
            _ => part(word.rd())?.value & !(0xffff << at) | bits,
        };
        let value = sized(value, word.bit(31));
        let is_address = !program.is_relocatable;
        return Some((Part { value, is_address }, true));
    }
    // ldr or ldrsw of an address near the code
    let is_signed = word.is(0xff00_0000, 0x9800_0000);
    if (is_signed || word.is(0xbf00_0000, 0x1800_0000)) && word.rd() != ZERO {
        let from = at.wrapping_add_signed(i64::from(word.signed(5, 19)) * 4);
        let bytes = program.bytes(from)?;
        let number = match word.bit(30) {
            true => u64::from_le_bytes(*bytes.first_chunk()?),
            false if is_signed => {
                i64::from(i32::from_le_bytes(*bytes.first_chunk()?)).cast_unsigned()
            }
            false => u32::from_le_bytes(*bytes.first_chunk()?).into(),
        };
        return Some((address(number), true));
    }
    None
}
