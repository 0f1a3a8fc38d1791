//! Finds the tables of indirect jumps.

use iced_x86::{Instruction, Mnemonic, OpKind, Register as Iced};

use super::{RBP, RSP, decode, effects, number};
use crate::instruction::{Effect, IndirectJump, Operand, Register, TableBase, TableForm};
use crate::program::Program;

/// Every form that compilers make: addresses, and distances of 4 and of 8 bytes.
const ALL: [TableForm; 3] = [
    form(8, false, TableBase::Zero),
    form(4, true, TableBase::Named),
    form(8, true, TableBase::Named),
];

/// A form of table with entries of so many bytes.
const fn form(size: u8, signed: bool, base: TableBase) -> TableForm {
    TableForm {
        size,
        signed,
        scale: 1,
        base,
    }
}

/// Describes how an indirect jump finds its target, by the instructions before it, the nearest first.
pub(super) fn indirect_jump(program: &Program<'_>, at: u64, before: &[u64]) -> IndirectJump {
    let Some(jump) = decode(program, at) else {
        return IndirectJump::default();
    };
    if jump.op0_kind() != OpKind::Memory {
        let register = number(jump.op0_register());
        return IndirectJump {
            register: Some(register),
            ..by_register(program, register, before)
        };
    }
    if jump.is_ip_rel_memory_operand() {
        return IndirectJump {
            is_import: true,
            ..IndirectJump::default()
        };
    }
    let base = jump.memory_base();
    match jump.memory_index() {
        Iced::None => IndirectJump {
            forms: ALL.to_vec(),
            is_computed: matches!(base, Iced::RSP | Iced::RBP),
            ..IndirectJump::default()
        },
        _ => by_load(program, &jump, (at, before), ALL[0]),
    }
}

/// The jump to an entry that an instruction with an index loads.
fn by_load(
    program: &Program<'_>,
    load: &Instruction,
    (at, before): (u64, &[u64]),
    form: TableForm,
) -> IndirectJump {
    let base = load.memory_base();
    let displacement = load.memory_displacement64();
    if matches!(load.memory_segment(), Iced::FS | Iced::GS) {
        return IndirectJump {
            counts_from_labels: form.base == TableBase::Named,
            ..unknown(true, 0)
        };
    }
    IndirectJump {
        pointer: (base.is_gpr64() && displacement == 0).then(|| (at, number(base))),
        forms: vec![form],
        table: (base == Iced::None).then_some(displacement),
        is_indexed: counts_entries(program, load, form.size, before),
        counts_from_labels: form.base == TableBase::Named,
        ..IndirectJump::default()
    }
}

/// Where the target of a jump may come from, on the way from the jump back to the load of an entry.
struct Search {
    /// Registers that may contain the entry, each with the register that is added to it.
    candidates: Vec<(Register, Option<Register>)>,
    /// The instruction that adds an address to the entry.
    sum: Option<u64>,
    /// The sign of the entry is extended after the load.
    is_signed: bool,
}

/// A jump to a register.
fn by_register(program: &Program<'_>, target: Register, before: &[u64]) -> IndirectJump {
    let mut search = Search {
        candidates: vec![(target, None)],
        sum: None,
        is_signed: false,
    };
    for (index, at) in before.iter().enumerate() {
        let Some(one) = decode(program, *at) else {
            break;
        };
        if let Some(found) = search.step(program, &one, *at, &before[index + 1..]) {
            return found;
        }
    }
    let unset = search.candidates.iter().map(|(register, _)| 1 << register);
    match search.sum {
        Some(_) => unknown(true, 0),
        None => unknown(false, unset.fold(0, |all, bit| all | bit)),
    }
}

/// A jump whose table is not found.
fn unknown(is_computed: bool, unset: u64) -> IndirectJump {
    IndirectJump {
        forms: ALL.to_vec(),
        is_computed,
        unset,
        ..IndirectJump::default()
    }
}

impl Search {
    /// Takes one step back. Returns the jump if the instruction loads the entry, or shows that there is none.
    fn step(
        &mut self,
        program: &Program<'_>,
        one: &Instruction,
        at: u64,
        before: &[u64],
    ) -> Option<IndirectJump> {
        let effects = effects::effects(one);
        let value = |register: Register| {
            let mut sets = effects.iter().filter_map(|effect| match effect {
                Effect::Set(to, value) if *to == register => Some(*value),
                _ => None,
            });
            sets.next_back()
        };
        let place =
            (self.candidates.iter()).position(|(register, _)| value(*register).is_some())?;
        let (register, label) = self.candidates.swap_remove(place);
        let is_load = one.op_count() == 2
            && one.op0_kind() == OpKind::Register
            && one.op1_kind() == OpKind::Memory
            && one.mnemonic() != Mnemonic::Lea;
        let is_sum = label.is_some();
        // An entry with a constant number.
        if is_load && is_sum && one.is_ip_rel_memory_operand() {
            let form = entry(one, true, self.is_signed)?;
            return Some(IndirectJump {
                forms: vec![form],
                table: Some(one.ip_rel_memory_address()),
                label: self.sum.zip(label),
                is_indexed: true,
                counts_from_labels: true,
                ..IndirectJump::default()
            });
        }
        if is_load && one.memory_index() != Iced::None {
            return Some(match entry(one, is_sum, self.is_signed) {
                Some(form) => IndirectJump {
                    label: self.sum.zip(label),
                    ..by_load(program, one, (at, before), form)
                },
                None => IndirectJump {
                    counts_from_labels: is_sum,
                    ..unknown(true, 0)
                },
            });
        }
        match value(register)? {
            Operand::Sum(from, 0) => self.candidates.push((from, label)),
            Operand::Registers {
                left,
                right,
                shift: 0,
                subtracts: false,
            } if label.is_none() => {
                self.sum = Some(at);
                self.candidates = vec![(left, Some(right)), (right, Some(left))];
            }
            _ if is_extended(one) => {
                self.is_signed = true;
                let from = match one.op_count() {
                    0 => register,
                    _ => number(one.op1_register()),
                };
                self.candidates.push((from, label));
            }
            // The other register of the sum may contain the entry.
            _ if label.is_some() => {}
            Operand::Word | Operand::Address(_) | Operand::Number(_) => {
                return Some(unknown(false, 0));
            }
            // A word of the stack may be a sum.
            Operand::Load(base, _) => return Some(unknown(matches!(base, RSP | RBP), 0)),
            _ => return Some(unknown(true, 0)),
        }
        None
    }
}

/// The form of the table whose entry an instruction loads, if the entry is a word of 4 or 8 bytes. `is_sum`: an address is added to the entry.
fn entry(load: &Instruction, is_sum: bool, is_signed: bool) -> Option<TableForm> {
    let base = match is_sum {
        true => TableBase::Named,
        false => TableBase::Zero,
    };
    match (load.mnemonic(), load.memory_size().size()) {
        (Mnemonic::Mov, 8) => Some(form(8, is_sum, base)),
        (Mnemonic::Mov, 4) => Some(form(4, is_signed, base)),
        (Mnemonic::Movsxd, 4) => Some(form(4, true, base)),
        _ => None,
    }
}

/// Whether an instruction extends the sign of a register of 32 bits to 64 bits.
fn is_extended(one: &Instruction) -> bool {
    match one.mnemonic() {
        Mnemonic::Cdqe => true,
        Mnemonic::Movsxd => one.op1_kind() == OpKind::Register,
        _ => false,
    }
}

/// Whether the index of a load counts entries of `size` bytes, as far as the instructions before the load show. `before` has the nearest first.
fn counts_entries(program: &Program<'_>, load: &Instruction, size: u8, before: &[u64]) -> bool {
    let (base, index) = (load.memory_base(), load.memory_index());
    let counts = |register: Iced, scale: u32| {
        register.is_gpr64()
            && stride(program, number(register), before)
                .and_then(|stride| stride.checked_mul(scale.into()))
                == Some(size.into())
    };
    let scale = load.memory_index_scale();
    counts(index, scale) || scale == 1 && counts(base, 1)
}

/// By how many bytes a register changes if the number changes by one from which the register is computed. `None`: the instructions before do
/// not show it.
fn stride(program: &Program<'_>, register: Register, before: &[u64]) -> Option<u64> {
    let mut register = register;
    let mut stride = 1_u64;
    for at in before {
        let one = decode(program, *at)?;
        let effects = effects::effects(&one);
        let sets = |effect: &Effect| matches!(effect, Effect::Set(to, _) if *to == register);
        let Some(Effect::Set(_, value)) = effects.iter().rfind(|effect| sets(effect)) else {
            continue;
        };
        let source = one.op1_register();
        let (base, index) = (one.memory_base(), one.memory_index());
        let is_lea = one.mnemonic() == Mnemonic::Lea;
        let factor = match (one.mnemonic(), *value) {
            (Mnemonic::Shl, _) if one.op1_kind() == OpKind::Immediate8 => {
                1_u64.checked_shl(u32::from(one.immediate8()))?
            }
            (Mnemonic::Shl | Mnemonic::Imul | Mnemonic::Mul, _) => return None,
            _ if is_lea && base == Iced::None && index == Iced::None => break,
            _ if is_lea && base == Iced::None => {
                register = number(index);
                one.memory_index_scale().into()
            }
            _ if is_lea && base == index => {
                register = number(base);
                u64::from(one.memory_index_scale()) + 1
            }
            _ if is_lea && index == Iced::None => {
                register = number(base);
                1
            }
            (Mnemonic::Add, _) if source == one.op0_register() => 2,
            (_, Operand::Sum(from, _)) => {
                register = from;
                1
            }
            (_, Operand::Registers { shift: 1.., .. }) => return None,
            (Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd, _)
                if one.op1_kind() == OpKind::Register && source.is_gpr() =>
            {
                register = number(source);
                1
            }
            (Mnemonic::Cdqe | Mnemonic::And | Mnemonic::Add | Mnemonic::Sub, _) => 1,
            // A number that is loaded or computed in a different way.
            _ => break,
        };
        stride = stride.checked_mul(factor)?;
    }
    Some(stride)
}
