//! The tables that indirect jumps read.

use std::cmp::Ordering;

use super::immediate::named_address;
use super::word::Word;
use super::{FP, SP, decode, word};
use crate::instruction::{Effect, Flow, IndirectJump, Operand, Register, TableBase, TableForm};
use crate::program::Program;

/// An addition of two registers. The second one is extended, and shifted left.
struct Sum {
    at: u64,
    registers: [Register; 2],
    /// Bytes of the second register that count, and whether their sign is extended.
    extension: (u8, bool),
    shift: u32,
}

impl Sum {
    /// Returns the sign and the scale that a load gives to the entries of a table, if the second register is an entry.
    fn sign_and_scale(&self, load: Word) -> Option<(bool, u8)> {
        let (bytes, is_signed) = self.extension;
        let size: u8 = 1 << load.bits(30, 2);
        let is_signed = match (bytes.cmp(&size), load.bits(22, 2)) {
            (Ordering::Less, _) => return None,
            (Ordering::Equal, _) => is_signed,
            // The load extends the sign to 64 bits, or to 32 bits. In the second case the sum extends the sign of these 32 bits.
            (_, 2) => true,
            (_, 3) if bytes == 8 || !is_signed => return None,
            (_, 3) => true,
            _ => false,
        };
        let scale = 1_u8.checked_shl(self.shift).filter(|scale| *scale != 0)?;
        Some((is_signed, scale))
    }
}

/// What is found on the way from the jump back to the load of its entry.
struct Search {
    /// A bit for each register from which the jump's target is computed. If a sum was found, the first set of bits is for its first register,
    /// and the second set is for its second register.
    wanted: [u64; 2],
    sum: Option<Sum>,
    /// Other instructions compute with the registers. An entry then has more forms, and the jump may also go elsewhere.
    is_unsure: bool,
}

/// Returns the form of a table whose entries are added to an address.
const fn added(size: u8, signed: bool, scale: u8) -> TableForm {
    let base = TableBase::Named;
    TableForm {
        size,
        signed,
        scale,
        base,
    }
}

/// The form of a table of addresses.
const ADDRESSES: TableForm = TableForm {
    size: 8,
    signed: false,
    scale: 1,
    base: TableBase::Zero,
};

/// Every form that compilers make. The entry may have been loaded in another block, and be kept in a register or on the stack.
const ALL: [TableForm; 8] = [
    added(1, false, 4),
    added(1, true, 4),
    added(2, false, 4),
    added(2, true, 4),
    added(4, true, 1),
    added(4, true, 4),
    added(8, true, 1),
    ADDRESSES,
];

/// Returns the forms of tables that a jump can read.
pub(super) fn indirect_jump(program: &Program<'_>, at: u64, before: &[u64]) -> IndirectJump {
    let mut unknown = IndirectJump {
        forms: ALL.to_vec(),
        ..Default::default()
    };
    let Some(jump) = word(program, at) else {
        return unknown;
    };
    unknown.register = Some(jump.rn());
    let mut search = Search {
        wanted: [bit(jump.rn()), 0],
        sum: None,
        is_unsure: false,
    };
    for (index, &at) in before.iter().enumerate() {
        let Some(word) = word(program, at) else { break };
        if is_indexed_load(word) && search.wants(word.rd()) {
            let label = search.label(word);
            let forms = search.forms(word);
            return IndirectJump {
                pointer: Some((at, word.rn())),
                is_indexed: !search.is_unsure
                    && counts_entries(program, word, &before[index + 1..]),
                counts_from_labels: forms != [ADDRESSES],
                label,
                forms,
                ..unknown
            };
        }
        search.step(word, at);
        if search.wanted == [0, 0] {
            break;
        }
    }
    IndirectJump {
        unset: search.wanted[0] | search.wanted[1],
        is_computed: search.is_unsure || search.sum.is_some(),
        ..unknown
    }
}

/// Returns the bit of a register. The zero register has none.
const fn bit(register: Register) -> u64 {
    if register < 31 { 1 << register } else { 0 }
}

/// Returns whether the instruction loads a general register from a base register and an index.
fn is_indexed_load(word: Word) -> bool {
    let is_prefetch = word.is(0xffc0_0000, 0xf880_0000);
    word.is(0x3f20_0c00, 0x3820_0800) && word.bits(22, 2) != 0 && !is_prefetch
}

impl Search {
    fn wants(&self, register: Register) -> bool {
        (self.wanted[0] | self.wanted[1]) & bit(register) != 0
    }

    /// Returns the sum of an address and the entry that an instruction loads, and the register with that address. Without it, the search
    /// is unsure.
    fn label(&mut self, load: Word) -> Option<(u64, Register)> {
        let sum = self.sum.as_ref()?;
        let label = match self.wanted.map(|wanted| wanted & bit(load.rd()) != 0) {
            [false, true] => Some(sum.registers[0]),
            [true, false] if sum.shift == 0 && sum.extension.0 == 8 => Some(sum.registers[1]),
            _ => None,
        };
        self.is_unsure |= label.is_none() || sum.sign_and_scale(load).is_none();
        label
            .filter(|_| !self.is_unsure)
            .map(|label| (sum.at, label))
    }

    /// Replaces the registers that an instruction writes by those that it computes them from.
    fn step(&mut self, word: Word, at: u64) {
        let Some(instruction) = decode(word, at) else {
            self.wanted = [0, 0];
            return;
        };
        if matches!(instruction.flow, Flow::Call | Flow::IndirectCall) {
            self.wanted = [0, 0];
        }
        let parts = self.wanted.map(|wanted| wanted & bit(word.rd()) != 0);
        for effect in &instruction.effects {
            if let Effect::Set(register, value) = effect {
                // The base register that a load or store moves is a sum. A word of the stack may be one.
                let is_sum = match value {
                    Operand::Sum(_, by) => *by != 0,
                    Operand::Load(base, _) => matches!(*base, SP | FP),
                    _ => false,
                };
                self.is_unsure |= is_sum && self.wants(*register);
                self.wanted = self.wanted.map(|wanted| wanted & !bit(*register));
            }
        }
        if parts != [false, false] {
            self.sources(word, at, parts);
        }
    }

    /// Adds the registers that an instruction computes its result from, to those parts of `wanted` that have the result.
    fn sources(&mut self, word: Word, at: u64, parts: [bool; 2]) {
        let is_shifted = word.is(0xffe0_0000, 0x8b00_0000);
        if (is_shifted || word.is(0xffe0_0000, 0x8b20_0000)) && self.sum.is_none() {
            let registers = [word.rn(), word.rm()];
            self.wanted[0] |= bit(word.rn());
            self.wanted[1] = bit(word.rm());
            self.sum = Some(Sum {
                at,
                registers,
                extension: match is_shifted {
                    true => (8, false),
                    false => (1 << word.bits(13, 2), word.bit(15)),
                },
                shift: word.bits(10, if is_shifted { 6 } else { 3 }),
            });
            return;
        }
        let mut want = |register: Register| {
            for (wanted, has_result) in self.wanted.iter_mut().zip(parts) {
                *wanted |= if has_result { bit(register) } else { 0 };
            }
        };
        if word.is(0x7fe0_ffe0, 0x2a00_03e0) {
            // mov
            want(word.rm());
        } else if word.is(0x1f00_0000, 0x1100_0000) || word.is(0x1f80_0000, 0x1300_0000) {
            // add of a constant; shifts and extensions
            want(word.rn());
            self.is_unsure = true;
        } else if word.is(0x1f00_0000, 0x0b00_0000) {
            want(word.rn());
            want(word.rm());
            self.is_unsure = true;
        } else if word.is(0xffe0_0c00, 0x9a80_0000) {
            // csel, of whose sources only one is followed to its load
            want(word.rn());
            want(word.rm());
            self.is_unsure = true;
        } else {
            // Other arithmetic. The constants of `adr`, `movz` and their like are not computed.
            let is_moved = word.is(0x1f80_0000, 0x1280_0000) && word.bits(29, 2) != 3;
            let is_constant = is_moved || named_address(word, at).is_some();
            self.is_unsure |= matches!(word.bits(25, 4), 5 | 8 | 9 | 13) && !is_constant;
        }
    }

    /// Returns the forms that fit the load and the additions after it.
    fn forms(&self, load: Word) -> Vec<TableForm> {
        let size = 1 << load.bits(30, 2);
        let known = match &self.sum {
            None if size == 8 => return vec![ADDRESSES],
            Some(sum) if !self.is_unsure => sum.sign_and_scale(load),
            _ => None,
        };
        let (signs, scales): (&[bool], &[u8]) = match &known {
            Some((sign, scale)) => (&[*sign], &[*scale]),
            None => (&[false, true], &[1, 4]),
        };
        let pairs = signs
            .iter()
            .flat_map(|signed| scales.iter().map(|scale| (*signed, *scale)));
        pairs
            .map(|(signed, scale)| added(size, signed, scale))
            .collect()
    }
}

/// Returns whether the index of a load counts entries, as far as the instructions before the load show. `before` has the nearest first.
fn counts_entries(program: &Program<'_>, load: Word, before: &[u64]) -> bool {
    let size = 1 << load.bits(30, 2);
    let scale = if load.bit(12) { size } else { 1 };
    stride(program, load.rm(), before).and_then(|stride| stride.checked_mul(scale)) == Some(size)
}

/// Returns by how many bytes a register changes if the number changes by one from which the register is computed. `None`: the
/// instructions before do not show it.
fn stride(program: &Program<'_>, mut register: Register, before: &[u64]) -> Option<u64> {
    let mut stride = 1_u64;
    for &at in before {
        let word = word(program, at)?;
        let instruction = decode(word, at)?;
        let sets = |effect: &Effect| matches!(effect, Effect::Set(to, _) if *to == register);
        if !instruction.effects.iter().any(sets) {
            continue;
        }
        let bits = if word.is_64() { 64 } else { 32 };
        let (rotation, last) = (word.bits(16, 6), word.bits(10, 6));
        let shifted = word.is(0x7fe0_0000, 0x0b00_0000);
        let factor = match word.bits(23, 6) {
            // sbfm, ubfm: lsl, ubfiz and their like if the rotation is larger than the number of the last bit
            // bfm keeps other bits of the register.
            0x26 if word.bits(29, 2) == 1 => return None,
            0x26 if last < rotation => 1_u64.checked_shl(u32::checked_sub(bits, rotation)?)?,
            // sxtw, ubfx and their like; add and sub of a constant; and
            0x26 | 0x22 | 0x24 => 1,
            _ if shifted && word.rn() == word.rm() => {
                1_u64.checked_shl(word.bits(10, 6))?.checked_add(1)?
            }
            // mov
            _ if word.is(0x7fe0_ffe0, 0x2a00_03e0) => {
                register = word.rm();
                continue;
            }
            // Sums and differences of two registers, multiplications, and shifts by a register.
            _ if word.is(0x1f00_0000, 0x0b00_0000) => return None,
            _ if word.is(0x1f00_0000, 0x1b00_0000) || word.is(0x5fe0_f000, 0x1ac0_2000) => {
                return None;
            }
            // A number that is loaded or computed in a different way.
            _ => break,
        };
        register = word.rn();
        stride = stride.checked_mul(factor)?;
    }
    Some(stride)
}
