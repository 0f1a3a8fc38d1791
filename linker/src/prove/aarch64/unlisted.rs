//! All other instructions: what they may write is unknown afterwards.

use disarm64::InsnOpcode;
use disarm64_defn::{InsnClass, InsnOperandClass, InsnOperandKind};

use super::super::isa::Flow;
use super::super::value::{Address, Register, Value};
use super::Run;

impl Run<'_> {
    /// Forgets every register and memory that the instruction may write. The decoder does not say which operands are written;
    /// the kinds listed here are the only ones that ever are.
    pub(super) fn unlisted(&mut self) -> Flow {
        let definition = self.opcode.definition();
        self.forget_memory();
        for operand in definition.operands {
            if !self.may_write(operand.kind) {
                continue;
            }
            let low = operand.bit_fields.first().map_or(0, |field| field.lsb);
            let register = self.number(low.into());
            match operand.kind {
                InsnOperandKind::Rd
                | InsnOperandKind::Rt
                | InsnOperandKind::Rt2
                | InsnOperandKind::Rs
                | InsnOperandKind::LSE128_Rt
                | InsnOperandKind::LSE128_Rt2
                | InsnOperandKind::MOPS_ADDR_Rd
                | InsnOperandKind::MOPS_ADDR_Rs
                | InsnOperandKind::MOPS_WB_Rn => {
                    self.write(register, 64, Value::Unknown);
                }
                InsnOperandKind::Rd_SP => {
                    let source = definition.operands.get(1);
                    let low = source.and_then(|source| source.bit_fields.first());
                    let from = low.map_or(register, |field| self.number(field.lsb.into()));
                    self.write_address(register, from);
                }
                // The second register of a pair: the first one has an even number.
                InsnOperandKind::PAIRREG | InsnOperandKind::PAIRREG_OR_XZR => {
                    let first = match definition.class {
                        InsnClass::IC_SYSTEM => self.number(0),
                        _ => self.number(16),
                    };
                    self.write(first | 1, 64, Value::Unknown);
                }
                InsnOperandKind::Rt_LS64 => {
                    let first = self.number(0);
                    for register in first..first.saturating_add(8).min(31) {
                        self.write(register, 64, Value::Unknown);
                    }
                }
                InsnOperandKind::X16 => {
                    self.write(16, 64, Value::Unknown);
                }
                _ => {}
            }
        }
        if self.moves_base() {
            let base = self.number(5);
            self.write_address(base, base);
        }
        let keeps_flags = match definition.class {
            InsnClass::DP_3SRC | InsnClass::EXTRACT | InsnClass::CSSC => true,
            InsnClass::DP_2SRC => definition.mnemonic != "subps",
            _ => false,
        };
        if !keeps_flags {
            self.machine.forget_flags();
        }
        Flow::Next
    }

    /// Whether this instruction may write an operand of a kind that others write.
    fn may_write(&self, operand: InsnOperandKind) -> bool {
        let definition = self.opcode.definition();
        let mnemonic = definition.mnemonic;
        let compares = mnemonic.contains("cas");
        match (definition.class, operand) {
            (InsnClass::LSE_ATOMIC | InsnClass::THE, InsnOperandKind::Rs) => {
                compares || mnemonic.starts_with("st64bv") || self.is_pair_of_the()
            }
            (InsnClass::LSE_ATOMIC | InsnClass::THE, InsnOperandKind::Rt) => !compares,
            (InsnClass::LSE_ATOMIC, InsnOperandKind::Rt_LS64) => mnemonic == "ld64b",
            (InsnClass::RCPC3 | InsnClass::LDSTPAIR_OFF, _) => !mnemonic.starts_with("st"),
            (InsnClass::LDSTEXCL, _) => !matches!(mnemonic, "stgm" | "stzgm"),
            (InsnClass::GCS, _) => matches!(mnemonic, "gcspopm" | "gcsss2"),
            (InsnClass::IC_SYSTEM, _) => {
                !matches!(mnemonic, "msrr" | "sysp" | "wfet" | "wfit" | "rmif")
            }
            _ => true,
        }
    }

    /// Whether the instruction is a read-check-write of two double words, from the translation hardening extension (FEAT_THE).
    fn is_pair_of_the(&self) -> bool {
        let definition = self.opcode.definition();
        let pairs = ["casp", "clrp", "setp", "swpp"];
        definition.class == InsnClass::THE
            && pairs.iter().any(|of| definition.mnemonic.contains(of))
    }

    /// Sets a register, which may be the stack pointer, to an unknown address; if it is computed from a stack address, to one
    /// with a new base.
    fn write_address(&mut self, register: Register, from: Register) {
        let value = match self.machine.get(from) {
            Value::Stack(..) => self.machine.new_base(),
            _ => Value::Unknown,
        };
        self.machine.set(register, value);
    }

    /// Whether the instruction may write back the base register of its memory operand.
    fn moves_base(&self) -> bool {
        let definition = self.opcode.definition();
        definition
            .operands
            .iter()
            .any(|operand| match operand.kind {
                InsnOperandKind::ADDR_SIMM10 => self.bit(11),
                InsnOperandKind::RCPC3_ADDR_OPT_POSTIND
                | InsnOperandKind::RCPC3_ADDR_OPT_PREIND_WB => !self.bit(12),
                InsnOperandKind::RCPC3_ADDR_POSTIND | InsnOperandKind::RCPC3_ADDR_PREIND_WB => true,
                _ => false,
            })
    }

    /// Forgets what the instruction may overwrite.
    fn forget_memory(&mut self) {
        let definition = self.opcode.definition();
        let mnemonic = definition.mnemonic;
        let mut operands = definition.operands.iter();
        let register = if operands.any(|operand| operand.kind == InsnOperandKind::MOPS_ADDR_Rd) {
            self.number(0)
        } else if (definition.operands.iter())
            .any(|operand| operand.class == InsnOperandClass::ADDRESS)
        {
            self.number(5)
        } else {
            return;
        };
        let address = Address::of(self.read_or_sp(register, 64), 0);
        match definition.class {
            InsnClass::LSE_ATOMIC | InsnClass::LSE128_ATOMIC | InsnClass::THE => {
                let size = match mnemonic {
                    "ld64b" => return,
                    "st64b" | "st64bv" | "st64bv0" => 64,
                    _ if definition.class == InsnClass::LSE128_ATOMIC => 16,
                    _ if definition.class == InsnClass::THE => {
                        if self.is_pair_of_the() {
                            16
                        } else {
                            8
                        }
                    }
                    _ if mnemonic.starts_with("casp") => 8 << self.bits(30, 1),
                    // Unprivileged accesses have one bit for words or double words.
                    _ if self.bits(24, 6) == 0b01_1001 => 4 << self.bits(30, 1),
                    // Floating-point numbers have at least 16 bits: `bfloat16` has the size field of bytes.
                    _ if self.bit(26) => 2_u8.max(1 << self.bits(30, 2)),
                    _ => 1 << self.bits(30, 2),
                };
                self.machine.store(address, size, Value::Unknown);
            }
            InsnClass::GCS => self.machine.store(address, 8, Value::Unknown),
            // Loads of scalable vectors, prefetches, and `adr`.
            _ if mnemonic.starts_with("ld") || mnemonic.contains("prf") || mnemonic == "adr" => {}
            // The size and the offset of the store depend on the processor's vector length.
            _ => {
                if let Address::Stack(base, _) = address {
                    self.machine.slots.retain(|slot| slot.base != base);
                }
                self.machine.store(Address::Unknown, 0, Value::Unknown);
            }
        }
    }
}
