//! The tables that indirect jumps read.

use super::immediate::named_address;
use super::word::Word;
use super::{FP, SP, decode, word};
use crate::instruction::{Effect, Flow, IndirectJump, Operand, Register, TableBase, TableForm};
use crate::program::Program;

/// What is found on the way from the jump back to the load of its entry.
struct Search {
    /// A bit for each register that the jump's target is computed from.
    wanted: u64,
    /// How far an addition shifts a register that may be the entry.
    shifts: Vec<u32>,
    /// An addition extends the sign of that register.
    extends: bool,
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
    let wanted = 1 << jump.rn();
    let mut search = Search {
        wanted,
        shifts: Vec::new(),
        extends: false,
        is_unsure: false,
    };
    for (index, &at) in before.iter().enumerate() {
        let Some(word) = word(program, at) else { break };
        if is_indexed_load(word) && search.wants(word.rd()) {
            let forms = search.forms(word);
            return IndirectJump {
                pointer: Some((at, word.rn())),
                is_indexed: !search.is_unsure
                    && counts_entries(program, word, &before[index + 1..]),
                counts_from_labels: forms != [ADDRESSES],
                forms,
                ..unknown
            };
        }
        search.step(word, at);
        if search.wanted == 0 {
            break;
        }
    }
    IndirectJump {
        unset: search.wanted,
        is_computed: search.is_unsure || !search.shifts.is_empty(),
        ..unknown
    }
}

/// Returns whether the instruction loads a general register from a base register and an index.
fn is_indexed_load(word: Word) -> bool {
    let is_prefetch = word.is(0xffc0_0000, 0xf880_0000);
    word.is(0x3f20_0c00, 0x3820_0800) && word.bits(22, 2) != 0 && !is_prefetch
}

impl Search {
    fn wants(&self, register: Register) -> bool {
        register < 31 && self.wanted >> register & 1 == 1
    }

    /// Replaces the registers that an instruction writes by those that it computes them from.
    fn step(&mut self, word: Word, at: u64) {
        let Some(instruction) = decode(word, at) else {
            self.wanted = 0;
            return;
        };
        if matches!(instruction.flow, Flow::Call | Flow::IndirectCall) {
            self.wanted = 0;
        }
        let is_wanted = self.wants(word.rd());
        for effect in &instruction.effects {
            if let Effect::Set(register, value) = effect {
                // The base register that a load or store moves is a sum. A word of the stack may be one.
                let is_sum = match value {
                    Operand::Sum(_, by) => *by != 0,
                    Operand::Load(base, _) => matches!(*base, SP | FP),
                    _ => false,
                };
                self.is_unsure |= is_sum && self.wants(*register);
                self.wanted &= !(1 << register);
            }
        }
        if is_wanted {
            self.sources(word, at);
        }
    }

    fn sources(&mut self, word: Word, at: u64) {
        let mut want = |register: Register| {
            if register < 31 {
                self.wanted |= 1 << register;
            }
        };
        // add of two registers: shifted, or extended
        if word.is(0xffe0_0000, 0x8b00_0000) {
            want(word.rn());
            want(word.rm());
            self.shifts.push(word.bits(10, 6));
        } else if word.is(0xffe0_0000, 0x8b20_0000) {
            want(word.rn());
            want(word.rm());
            self.shifts.push(word.bits(10, 3));
            self.extends |= word.bit(15);
        } else if word.is(0x7fe0_ffe0, 0x2a00_03e0) {
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
        if size == 8 && self.shifts.is_empty() {
            return vec![ADDRESSES];
        }
        let is_signed = load.bit(23) || self.extends;
        let scales: Vec<u8> = match self.shifts[..] {
            [shift @ 0..=4] if !self.is_unsure => vec![1 << shift],
            _ => vec![1, 4],
        };
        let signs: &[bool] = match self.is_unsure {
            true => &[false, true],
            false => &[is_signed],
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
