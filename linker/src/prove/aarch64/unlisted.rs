//! All instructions that are not looked at one by one: what they may write is not known afterwards.

use disarm64::InsnOpcode;
use disarm64_defn::{InsnClass, InsnOperandClass, InsnOperandKind};

use super::super::isa::Flow;
use super::super::value::{Address, Register, Value};
use super::Run;

impl Run<'_> {
    /// Forgets every register that the instruction may write: by its operands, of which the decoder does not say whether
    /// they are written, but only those of some kinds ever are.
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

    /// Whether an operand that instructions write is one that this one writes.
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

    /// Whether the instruction is one of the translation hardening extension (FEAT_THE) for two double words.
    fn is_pair_of_the(&self) -> bool {
        let definition = self.opcode.definition();
        let pairs = ["casp", "clrp", "setp", "swpp"];
        definition.class == InsnClass::THE
            && pairs.iter().any(|of| definition.mnemonic.contains(of))
    }

    /// Gives a register, which may be the stack pointer, an address that is not known. One that is made from an address on the
    /// stack is one, too.
    fn write_address(&mut self, register: Register, from: Register) {
        let value = match self.machine.get(from) {
            Value::Stack(..) => self.machine.new_base(),
            _ => Value::Unknown,
        };
        self.machine.set(register, value);
    }

    /// Whether the base register of the memory operand may change.
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
                    // For unprivileged accesses, one bit tells words from double words.
                    _ if self.bits(24, 6) == 0b01_1001 => 4 << self.bits(30, 1),
                    // Floating-point numbers of 16 bits: "brain" ones have the size of bytes.
                    _ if self.bit(26) => 2_u8.max(1 << self.bits(30, 2)),
                    _ => 1 << self.bits(30, 2),
                };
                self.machine.store(address, size, Value::Unknown);
            }
            InsnClass::GCS => self.machine.store(address, 8, Value::Unknown),
            // Loads of scalable vectors, prefetches, and what computes addresses.
            _ if mnemonic.starts_with("ld") || mnemonic.contains("prf") || mnemonic == "adr" => {}
            // How much is written, and how far from the address, only the running processor knows.
            _ => {
                if let Address::Stack(base, _) = address {
                    self.machine.slots.retain(|slot| slot.base != base);
                }
                self.machine.store(Address::Unknown, 0, Value::Unknown);
            }
        }
    }
}
