//! The effects of A64 instructions on the abstract state. Manual: Arm Architecture Reference Manual for A-profile
//! architecture (DDI 0487), chapter C4 "A64 Instruction Set Encoding" and C6 "A64 Base Instruction Descriptions";
//! "Procedure Call Standard for the Arm 64-bit Architecture" (AAPCS64), section 6.1 "Machine Registers".
//!
//! The decoder `disarm64` gives an instruction's class and operands; fields are read from the word itself, because all
//! instructions of a class have them in the same bits.

mod arithmetic;
mod branch;
mod memory;
mod system;
mod tags;
mod unlisted;

use disarm64::format_insn::format_insn_pc;
use disarm64::{InsnOpcode, decoder::Opcode};
use disarm64_defn::InsnClass;

use super::isa::{Executed, Flow, Isa};
use super::machine::Machine;
use super::table::Tables;
use super::value::{Register, Value};

/// A64 with the procedure call standard for the Arm 64-bit architecture.
#[derive(Clone, Copy, Debug)]
pub struct A64;

/// The frame pointer.
const FP: Register = 29;
/// The link register.
const LR: Register = 30;
/// The stack pointer. In some operands the same number means the zero register.
const SP: Register = 31;

/// `ELR_EL1`, the address that an exception returns to: `ELR_mode` in "DWARF for the Arm 64-bit Architecture", section 4.1.
pub const ELR_EL1: Register = 33;
/// `SP_EL0`. DWARF has no number for it: 34, which would be next, is that of `RA_SIGN_STATE`.
pub const SP_EL0: Register = 40;
const TPIDRRO_EL0: Register = 35;
const TPIDR_EL0: Register = 36;
const TPIDR_EL1: Register = 37;

/// Bytes of an instruction.
const LENGTH: u8 = 4;

impl Isa for A64 {
    const STACK_POINTER: Register = SP;
    const FRAME_POINTER: Register = FP;
    const RETURN_ADDRESS: Register = LR;
    // x19 to x29 and sp. System registers are left out: a callee may clobber them.
    const KEPT_BY_CALLS: u64 = 0x7ff << 19 | 1 << SP;
    const OTHER_BASES: &'static [Register] = &[9];
    const KEEPS_INTERRUPTED_ON_STACK: bool = false;
    const RENUMBERED: &'static [(u32, Register)] = &[(unwind::aarch64::SP_EL0, SP_EL0)];

    type Instruction = (u32, Opcode);

    fn decode(&self, code: &[u8], _at: u64, decoded: &mut Vec<(u32, Opcode)>) {
        for word in code.chunks_exact(LENGTH.into()) {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            let Some(opcode) = disarm64::decoder::decode(word) else {
                break;
            };
            decoded.push((word, opcode));
            if matches!(
                opcode.definition().class,
                InsnClass::BRANCH_IMM
                    | InsnClass::BRANCH_REG
                    | InsnClass::CONDBRANCH
                    | InsnClass::COMPBRANCH
                    | InsnClass::TESTBRANCH
                    | InsnClass::EXCEPTION
            ) {
                break;
            }
        }
    }

    fn run(
        &self,
        (word, opcode): &(u32, Opcode),
        machine: &mut Machine,
        tables: &mut Tables,
    ) -> Option<Executed> {
        let mut run = Run {
            word: *word,
            opcode: *opcode,
            machine,
            tables,
        };
        if run.is_reserved() {
            return None;
        }
        Some(Executed {
            length: LENGTH,
            flow: run.execute(),
        })
    }

    fn lengths(&self, code: &[u8], _: u64) -> impl Iterator<Item = u8> {
        code.chunks_exact(LENGTH.into()).map(|_| LENGTH)
    }

    fn text(&self, code: &[u8], at: u64) -> String {
        let word = code.first_chunk().map(|word| u32::from_le_bytes(*word));
        match word.and_then(disarm64::decoder::decode) {
            Some(opcode) => {
                let mut text = String::new();
                match format_insn_pc(at, &mut text, &opcode) {
                    Ok(()) => text,
                    Err(_) => "?".to_owned(),
                }
            }
            None => "no instruction".to_owned(),
        }
    }

    fn padding(&self, code: &[u8]) -> Option<u8> {
        const NOP: u32 = 0xd503_201f;
        const BRK_1: u32 = 0xd420_0020;
        const UDF_0: u32 = 0;
        let word = u32::from_le_bytes(*code.first_chunk()?);
        matches!(word, NOP | BRK_1 | UDF_0).then_some(LENGTH)
    }
}

/// One instruction being executed.
struct Run<'a> {
    word: u32,
    opcode: Opcode,
    machine: &'a mut Machine,
    tables: &'a mut Tables,
}

impl Run<'_> {
    fn execute(&mut self) -> Flow {
        let definition = self.opcode.definition();
        let mnemonic = definition.mnemonic;
        match definition.class {
            // With bit 23 it is addg or subg, which the decoder takes for add and sub.
            InsnClass::ADDSUB_IMM if !self.bit(23) => self.add_immediate(),
            InsnClass::ADDSUB_SHIFT => self.add_shifted(),
            InsnClass::ADDSUB_EXT => self.add_extended(),
            InsnClass::LOG_IMM => self.logical_immediate(),
            InsnClass::LOG_SHIFT => self.logical_shifted(),
            InsnClass::MOVEWIDE => self.move_wide(),
            InsnClass::BITFIELD => self.bitfield(),
            InsnClass::CONDSEL => self.select(),
            InsnClass::PCRELADDR => self.pc_relative(),
            InsnClass::DP_1SRC => self.one_source(),
            InsnClass::BRANCH_IMM
            | InsnClass::BRANCH_REG
            | InsnClass::CONDBRANCH
            | InsnClass::COMPBRANCH
            | InsnClass::TESTBRANCH => self.branch(),
            InsnClass::EXCEPTION => self.exception(),
            InsnClass::IC_SYSTEM => self.system(),
            InsnClass::LDST_POS
            | InsnClass::LDST_REGOFF
            | InsnClass::LDST_UNSCALED
            | InsnClass::LDST_IMM9
            | InsnClass::LDST_UNPRIV => match self.is_tag_access() {
                true => self.tags(),
                false => self.single(),
            },
            InsnClass::LDSTPAIR_OFF | InsnClass::LDSTPAIR_INDEXED if mnemonic == "stgp" => {
                self.tagged_pair()
            }
            InsnClass::LDSTPAIR_OFF | InsnClass::LDSTPAIR_INDEXED | InsnClass::LDSTNAPAIR_OFFS
                if self.bits(27, 3) == 0b101 =>
            {
                self.pair()
            }
            InsnClass::RCPC3 if self.bits(24, 6) == 0b01_1101 && self.bits(10, 2) == 2 => {
                self.single()
            }
            InsnClass::LOADLIT => self.literal(),
            InsnClass::LDSTEXCL if self.bits(24, 6) == 0b00_1000 => self.exclusive(),
            InsnClass::ASISDLSE
            | InsnClass::ASISDLSEP
            | InsnClass::ASISDLSO
            | InsnClass::ASISDLSOP => self.structures(),
            _ => self.unlisted(),
        }
    }

    /// Whether the word is a reserved encoding that the decoder accepts.
    fn is_reserved(&self) -> bool {
        let is_narrow = !self.bit(31);
        match self.opcode.definition().class {
            InsnClass::BITFIELD | InsnClass::EXTRACT => {
                self.bit(22) == is_narrow || is_narrow && (self.bit(21) || self.bit(15))
            }
            InsnClass::MOVEWIDE => is_narrow && self.bit(22),
            InsnClass::ADDSUB_SHIFT => self.bits(22, 2) == 3 || is_narrow && self.bit(15),
            InsnClass::ADDSUB_EXT => self.bits(10, 3) > 4,
            InsnClass::ADDSUB_IMM => self.bit(23) && self.bit(29),
            InsnClass::LDST_POS
            | InsnClass::LDST_UNSCALED
            | InsnClass::LDST_IMM9
            | InsnClass::LDST_REGOFF => {
                let is_long = self.bit(26) && self.bit(23) && self.bits(30, 2) != 0;
                let is_register = self.opcode.definition().class == InsnClass::LDST_REGOFF;
                is_long || is_register && !self.bit(14)
            }
            InsnClass::LDSTPAIR_OFF | InsnClass::LDSTPAIR_INDEXED | InsnClass::LOADLIT => {
                self.bit(26) && self.bits(30, 2) == 3
            }
            InsnClass::LOG_SHIFT => is_narrow && self.bit(15),
            InsnClass::LOG_IMM => self.mask().is_none(),
            _ => false,
        }
    }

    /// A field of the instruction: `width` bits from bit `low` on.
    fn bits(&self, low: u32, width: u32) -> u32 {
        self.word >> low & ((1 << width) - 1)
    }

    fn bit(&self, number: u32) -> bool {
        self.bits(number, 1) == 1
    }

    /// A field that is a signed number.
    fn signed(&self, low: u32, width: u32) -> i64 {
        let unused = 32 - width;
        i64::from((self.bits(low, width) << unused).cast_signed() >> unused)
    }

    /// A field that is the number of a register.
    fn number(&self, low: u32) -> Register {
        self.bits(low, 5) as Register
    }

    /// The width of an arithmetic instruction's registers, in bits.
    fn width(&self) -> u8 {
        if self.bit(31) { 64 } else { 32 }
    }

    /// The lowest bits of a register; number 31 is zero.
    fn read(&mut self, register: Register, bits: u8) -> Value {
        match register {
            SP => Value::Constant(0),
            _ => {
                let value = self.machine.get(register);
                self.low(value, bits)
            }
        }
    }

    /// As [`Run::read`], but an unknown value becomes a symbolic one first.
    fn read_named(&mut self, register: Register, bits: u8) -> Value {
        if register != SP {
            self.machine.named(register);
        }
        self.read(register, bits)
    }

    /// The lowest bits of a register; number 31 is the stack pointer.
    fn read_or_sp(&mut self, register: Register, bits: u8) -> Value {
        let value = self.machine.get(register);
        self.low(value, bits)
    }

    /// Sets a register; number 31 discards the value. With 32 bits the upper half becomes zero.
    fn write(&mut self, register: Register, bits: u8, value: Value) -> Flow {
        if register != SP {
            self.write_or_sp(register, bits, value);
        }
        Flow::Next
    }

    /// Sets a register; number 31 is the stack pointer.
    fn write_or_sp(&mut self, register: Register, bits: u8, value: Value) -> Flow {
        let value = self.low(value, bits);
        self.machine.set(register, value);
        Flow::Next
    }

    /// The lowest bits of a value, the others zero.
    fn low(&mut self, value: Value, bits: u8) -> Value {
        match value {
            Value::Table(number) => self
                .tables
                .extended(number, bits, false)
                .unwrap_or(Value::Unknown),
            value => value.low(bits),
        }
    }

    /// The lowest bits of a value, with their sign or zeros above.
    fn extend(&mut self, value: Value, bits: u8, signed: bool) -> Value {
        if !signed || bits >= 64 {
            return self.low(value, bits);
        }
        if let Value::Table(number) = value {
            let extended = self.tables.extended(number, bits, true);
            return extended.unwrap_or(Value::Unknown);
        }
        match value.low(bits) {
            Value::Constant(value) => {
                let unused = 64 - u32::from(bits);
                Value::Constant(((value << unused).cast_signed() >> unused).cast_unsigned())
            }
            value => match self.machine.most(value) {
                Some(most) if most < 1 << (bits - 1) => value,
                _ => self.machine.name(),
            },
        }
    }
}
