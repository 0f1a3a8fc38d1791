//! Addresses of code and data that instructions name.

use super::immediate;
use super::word::{Word, ZERO};
use super::{decode, word};
use crate::instruction::{Effect, Named};
use crate::program::Program;

/// Returns the addresses that the instructions of one function name.
pub(super) fn named(program: &Program<'_>, instructions: &[u64]) -> Vec<Named> {
    // A page or another part of an address, by its register. Followed in the order of the addresses, whatever control does.
    let mut parts = [None; 32];
    let mut all = Vec::new();
    for &at in instructions {
        let Some(word) = word(program, at) else {
            continue;
        };
        let (result, is_complete) = match result(program, word, at, &parts) {
            Some((address, is_complete)) => (Some(address), is_complete),
            None => (None, false),
        };
        let address = result.filter(|address| is_complete && program.section(*address).is_some());
        if let Some(address) = address {
            all.push(Named { at, address });
        }
        let effects = decode(word, at).map(|instruction| instruction.effects);
        for effect in effects.unwrap_or_default() {
            if let Effect::Set(register, _) = effect
                && let Some(part) = parts.get_mut(usize::from(register))
            {
                *part = result.filter(|_| register == word.rd());
            }
        }
    }
    all
}

/// Returns the address or constant that the instruction computes, and whether it may be all of an address.
fn result(
    program: &Program<'_>,
    word: Word,
    at: u64,
    parts: &[Option<u64>; 32],
) -> Option<(u64, bool)> {
    if let Some(address) = immediate::named_address(word, at) {
        let is_page = word.bit(31);
        return Some((address, !is_page));
    }
    // add of a constant, in 64 bits, without flags
    if word.is(0xff80_0000, 0x9100_0000) {
        let part = parts[usize::from(word.rn())]?;
        return Some((
            part.wrapping_add_signed(immediate::summand(word).into()),
            true,
        ));
    }
    // movz, movk
    let is_constant = word.is(0x7f80_0000, 0x5280_0000) || word.is(0xff80_0000, 0xf280_0000);
    if is_constant && !program.is_relocatable {
        let at = 16 * word.bits(21, 2);
        let bits = u64::from(word.bits(5, 16)) << at;
        let kept = match word.bits(29, 2) {
            2 => 0,
            _ => parts[usize::from(word.rd())]? & !(0xffff << at),
        };
        return Some((kept | bits, true));
    }
    // ldr of an address beside the code
    if word.is(0xbf00_0000, 0x1800_0000) && word.rd() != ZERO {
        let from = at.wrapping_add_signed(i64::from(word.signed(5, 19)) * 4);
        let bytes = program.bytes(from)?;
        let number = match word.bit(30) {
            true => u64::from_le_bytes(*bytes.first_chunk()?),
            false => u32::from_le_bytes(*bytes.first_chunk()?).into(),
        };
        return Some((number, true));
    }
    None
}
