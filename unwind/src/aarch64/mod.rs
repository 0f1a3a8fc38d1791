//! AArch64: the registers of a walk. ABI: "Procedure Call Standard for the Arm 64-bit Architecture".

mod code;
mod effect;

use crate::registers::{Machine, RegisterSet, sealed::Sealed};

/// The DWARF number of `x9`.
pub const X9: u32 = 9;
/// The DWARF number of `x29`, the frame pointer.
pub const FP: u32 = 29;
/// The DWARF number of `x30`, the link register.
pub const LR: u32 = 30;
/// The DWARF number of `sp`.
pub const SP: u32 = 31;

/// The number of `ELR_EL1` in rules, where an exception leaves the interrupted program counter: "DWARF for the Arm 64-bit
/// Architecture", section "DWARF register names", calls it `ELR_mode`.
pub const ELR: u32 = 33;

/// The number of `SP_EL0` in rules, the interrupted stack pointer while exceptions run on `SP_EL1`. The ABI has none for it,
/// so it is the register's encoding in `mrs` (Arm Architecture Reference Manual, C6.2 "MRS": o0, op1, CRn, CRm, op2, which are
/// 1, 0, 4, 1, 0). The ABI's numbers end at 127, and no encoding is that small. Assemblers take it as a number:
/// `.cfi_register sp, 0x4208`.
pub const SP_EL0: u32 = 0x4208;

/// The number of `SPSR_EL1` in trap frames, the interrupted state: its encoding, as of [`SP_EL0`] (1, 0, 4, 0, 0).
pub const SPSR: u32 = 0x4200;

/// The registers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// `pc`, an address.
    pub pc: u64,
    /// `sp`, an address.
    pub sp: u64,
    /// `x29`.
    pub fp: u64,
    /// `x30`, the link register. Known in the innermost and in interrupted frames.
    pub lr: Option<u64>,
    /// `x9`: the frame's base in prologues that probe a big frame, page by page. Known in interrupted frames at most.
    pub x9: Option<u64>,
    /// `ELR_EL1`, an address: the interrupted program counter, before trap code has saved it and after it has restored it.
    /// Known only to a debugger outside of the CPU, and only in the innermost frame, because an exception in trap code
    /// overwrites it.
    pub elr: Option<u64>,
    /// `SP_EL0`, an address: the interrupted stack pointer, while exceptions run on `SP_EL1`. Known where [`Self::elr`] is.
    pub sp_el0: Option<u64>,
    /// `SPSR_EL1`, the interrupted state. Known where [`Self::elr`] is.
    pub spsr: Option<u64>,
    /// Whether it is user code: the state that an exception has saved is that of EL0.
    pub user: bool,
    /// The bits of an address that pointer authentication uses, the same for all frames; 0: none.
    pub authentication_bits: u64,
}

/// Bit 55 of a virtual address tells the two halves of the address space apart (Arm Architecture Reference Manual,
/// D8.1 "Address translation"); pointer authentication leaves it alone.
const HALF: u64 = 1 << 55;

impl Registers {
    /// The registers of the innermost or an interrupted frame, without pointer authentication.
    #[must_use]
    pub const fn new(pc: u64, sp: u64, fp: u64, lr: u64) -> Self {
        Self {
            pc,
            sp,
            fp,
            lr: Some(lr),
            x9: None,
            elr: None,
            sp_el0: None,
            spsr: None,
            user: false,
            authentication_bits: 0,
        }
    }

    /// The registers that an exception has interrupted: `x0` to `x30`, the stack pointer, and what it has left in `ELR_EL1` and `SPSR_EL1`,
    /// without pointer authentication.
    #[must_use]
    pub const fn interrupted(general: &[u64; 31], sp: u64, elr: u64, spsr: u64) -> Self {
        let [_, _, _, _, _, _, _, _, _, x9, .., fp, lr] = *general;
        let mut registers = Self::new(elr, sp, fp, lr).with_spsr(spsr);
        registers.x9 = Some(x9);
        registers
    }

    /// The same with the state that the exception has saved, `SPSR_EL1`, which tells whether it is user code.
    #[must_use]
    pub const fn with_spsr(mut self, spsr: u64) -> Self {
        // Arm Architecture Reference Manual, "SPSR_EL1": M[3:0] is the exception level and the stack pointer; AArch32's user
        // mode is 0 too.
        self.user = spsr & 0xf == 0;
        self
    }

    /// The same with return addresses that may carry an authentication code in `bits`: those above the virtual
    /// address size, bit 55 left out (48-bit addresses without tags: `0xff7f_0000_0000_0000`).
    #[must_use]
    pub const fn with_authentication_bits(mut self, bits: u64) -> Self {
        self.authentication_bits = bits & !HALF;
        self
    }
}

impl Sealed for Registers {
    #[inline(always)]
    fn set(&mut self, pc: u64, sp: u64, fp: u64) {
        (self.pc, self.sp, self.fp) = (pc, sp, fp);
    }
}

impl RegisterSet for Registers {
    const MACHINE: Machine = Machine::AArch64;
    const WORD: u64 = 8;
    const STACK_POINTER: u32 = SP;
    const PROGRAM_COUNTER: u32 = ELR;
    // The CPU faults on an access through a misaligned sp (SCTLR_ELx.SA).
    const CFA_ALIGNMENT: u64 = 16;
    const RECORD_IS_TOP_OF_FRAME: bool = false;

    fn pc(&self) -> u64 {
        self.pc
    }

    fn sp(&self) -> u64 {
        self.sp
    }

    fn fp(&self) -> u64 {
        self.fp
    }

    fn other(&self, register: u32) -> Option<u64> {
        match register {
            X9 => self.x9,
            LR => self.lr,
            ELR => self.elr,
            SP_EL0 => self.sp_el0,
            SPSR => self.spsr,
            _ => None,
        }
    }

    fn link(&self) -> Option<u64> {
        self.lr
    }

    fn sp_at(cfa: u64) -> u64 {
        cfa
    }

    /// By mask, as `xpaci` does it: zeros in the lower half of the address space, ones in the upper.
    fn strip(&self, address: u64) -> u64 {
        if address & HALF == 0 {
            address & !self.authentication_bits
        } else {
            address | self.authentication_bits
        }
    }

    fn learn(&mut self, register: u32, value: u64) {
        match register {
            X9 => self.x9 = Some(value),
            LR => self.lr = Some(value),
            SPSR => *self = self.with_spsr(value),
            _ => {}
        }
    }

    fn is_user(&self) -> bool {
        self.user
    }

    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self {
        Self {
            pc,
            sp,
            fp,
            lr: None,
            x9: None,
            elr: None,
            sp_el0: None,
            spsr: None,
            user: self.user,
            authentication_bits: self.authentication_bits,
        }
    }
}
