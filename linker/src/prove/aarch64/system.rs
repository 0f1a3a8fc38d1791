//! Hints, system registers and pointer authentication. Manual: C4.1.66 "Branches, Exception Generating and System
//! instructions", C5 "The A64 System Instruction Class", D8.10 "Pointer authentication".

use disarm64::InsnOpcode;

use super::super::isa::Flow;
use super::super::value::{Origin, Register, Value};
use super::branch::{authenticated, signed};
use super::{ELR_EL1, LR, Run, SP, SP_EL0, TPIDR_EL0, TPIDR_EL1, TPIDRRO_EL0};

/// A system register's number in an instruction: op0, op1, CRn, CRm, op2.
const fn encoding(op0: u32, op1: u32, n: u32, m: u32, op2: u32) -> u32 {
    op0 << 14 | op1 << 11 | n << 7 | m << 3 | op2
}

const SPSEL: u32 = encoding(3, 0, 4, 2, 0);

impl Run<'_> {
    pub(super) fn system(&mut self) -> Flow {
        match self.opcode.definition().mnemonic {
            "hint" => self.hint(),
            "mrs" => {
                let value = match self.followed() {
                    Some(register) => self.machine.named(register),
                    None => self.machine.name(),
                };
                self.write(self.number(0), 64, value)
            }
            "msr" => {
                // Writing SPSel, from a register or an immediate, selects another stack pointer.
                let is_number = !self.bit(20);
                let field = (self.bits(16, 3), self.bits(12, 4), self.bits(5, 3));
                let selects = is_number && field == (0, 4, 5);
                if selects || self.system_register() == SPSEL {
                    self.machine.set(SP, Value::Unknown);
                } else if let Some(register) = self.followed() {
                    let value = self.read_named(self.number(0), 64);
                    self.machine.set(register, value);
                }
                self.machine.forget_flags();
                Flow::Next
            }
            // Barriers, and cache maintenance, which only reads a register.
            "clrex" | "dmb" | "dsb" | "isb" | "sb" | "sys" => Flow::Next,
            _ => self.unlisted(),
        }
    }

    fn system_register(&self) -> u32 {
        match self.bit(20) {
            true => self.bits(5, 16),
            false => 0,
        }
    }

    /// The interpreter's number of the system register, if its value is tracked.
    fn followed(&self) -> Option<Register> {
        const ELR: u32 = encoding(3, 0, 4, 0, 1);
        const SP_OF_EL0: u32 = encoding(3, 0, 4, 1, 0);
        const TPIDR_OF_EL0: u32 = encoding(3, 3, 13, 0, 2);
        const TPIDRRO_OF_EL0: u32 = encoding(3, 3, 13, 0, 3);
        const TPIDR_OF_EL1: u32 = encoding(3, 0, 13, 0, 4);
        match self.system_register() {
            ELR => Some(ELR_EL1),
            SP_OF_EL0 => Some(SP_EL0),
            TPIDR_OF_EL0 => Some(TPIDR_EL0),
            TPIDRRO_OF_EL0 => Some(TPIDRRO_EL0),
            TPIDR_OF_EL1 => Some(TPIDR_EL1),
            _ => None,
        }
    }

    /// Hints. Some are instructions of pointer authentication, which older processors execute as `nop`.
    fn hint(&mut self) -> Flow {
        const X17: Register = 17;
        match self.bits(5, 7) {
            // xpaclri
            7 => self.replace(LR, stripped),
            // pacia1716, pacib1716
            8 | 10 => self.replace(X17, signed),
            // autia1716, autib1716
            12 | 14 => self.replace(X17, authenticated),
            // paciaz, paciasp, pacibz, pacibsp
            24..=27 => self.replace(LR, signed),
            // autiaz, autiasp, autibz, autibsp
            28..=31 => self.replace(LR, authenticated),
            _ => Flow::Next,
        }
    }

    /// Instructions with one source. Those of pointer authentication are interpreted, the results of others are unknown.
    pub(super) fn one_source(&mut self) -> Flow {
        let to = self.number(0);
        match (self.bits(16, 5), self.bits(10, 6)) {
            // Keys for data are not those of return addresses.
            (1, 2 | 3 | 6 | 7 | 10 | 11 | 14 | 15 | 17) => self.replace(to, |_| Value::Unknown),
            (1, 0..=3 | 8..=11) => self.replace(to, signed),
            (1, 4..=7 | 12..=15) => self.replace(to, authenticated),
            (1, 16) => self.replace(to, stripped),
            _ => {
                let value = self.machine.name();
                self.write(to, self.width(), value)
            }
        }
    }

    fn replace(&mut self, register: Register, with: impl Fn(Value) -> Value) -> Flow {
        let value = with(self.read(register, 64));
        let value = match value {
            Value::Unknown => self.machine.name(),
            known => known,
        };
        self.write(register, 64, value)
    }
}

/// A pointer without its authentication code. One that has none stays as it is.
fn stripped(value: Value) -> Value {
    match value {
        Value::Signed(register) => Value::entry(register),
        Value::Same(Origin::Entry(LR)) => value,
        _ => Value::Unknown,
    }
}
