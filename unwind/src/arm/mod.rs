//! 32-bit ARM, little-endian: the registers of a walk. ABI: "Procedure Call Standard for the Arm Architecture" and "DWARF for the Arm
//! Architecture", section "DWARF register names".
//!
//! ARM and Thumb code both. Which of them a return address leads to is told by its lowest bit, which is not of the address: frames
//! have it cleared.

mod code;

use crate::code::Instructions;
use crate::registers::{Machine, RegisterSet, sealed::Sealed};

/// The DWARF number of `r11`, the frame pointer where there is one. Thumb code has it in `r7`.
pub const R11: u32 = 11;
/// The DWARF number of `sp`.
pub const SP: u32 = 13;
/// The DWARF number of `lr`, the link register.
pub const LR: u32 = 14;
/// The DWARF number of `pc`.
pub const PC: u32 = 15;
/// The DWARF number of `SPSR`, the state that an exception has saved.
pub const SPSR: u32 = 128;

/// `r0` to `r12` have a place, that of `r11` without use.
const GENERAL: usize = 13;

/// `r4` to `r10`, which a function leaves to its caller as they were.
const KEPT_IN_CALLS: u16 = 0x7f0;

/// The registers of a frame. Values have 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// `pc`, an address, without the bit for Thumb.
    pub pc: u64,
    /// `sp`, an address.
    pub sp: u64,
    /// `r11`.
    pub fp: u64,
    /// `lr`. Known in the innermost and in interrupted frames.
    pub lr: Option<u64>,
    /// Whether it is user code: the state that an exception has saved is that of user mode.
    pub user: bool,
    /// Whether `pc` is a return address: [`Self::after_call`] has made them. Who begins a walk asks it; a walk itself does not.
    pub at_call: bool,
    /// Those of `r0` to `r10` and `r12` that are known, one bit each.
    known: u16,
    general: [u64; GENERAL],
}

impl Registers {
    /// These registers, and no others.
    #[must_use]
    pub const fn new(pc: u64, sp: u64, fp: u64, lr: u64) -> Self {
        Self {
            pc: pc & !1,
            sp,
            fp,
            lr: Some(lr),
            user: false,
            at_call: false,
            known: 0,
            general: [0; GENERAL],
        }
    }

    /// All sixteen, `r0` to `r15`, of the innermost or an interrupted frame.
    #[must_use]
    pub fn of(core: &[u32; 16]) -> Self {
        let [.., fp, _, sp, lr, pc] = core.map(u64::from);
        let mut registers = Self::new(pc, sp, fp, lr);
        for (number, value) in (0..16_u32).zip(core) {
            registers.set(number, (*value).into());
        }
        registers
    }

    /// Those of a function behind a call that it has made: `pc` is the return address, with the bit for Thumb or without, and `kept` are `r4`
    /// to `r11`. Others are not known. A walk begins with them by [`Unwinder::frames_from_call`](crate::Unwinder::frames_from_call).
    #[must_use]
    pub fn after_call(pc: u64, sp: u64, kept: &[u32; 8]) -> Self {
        let [.., fp] = *kept;
        let mut registers = Self {
            lr: None,
            at_call: true,
            ..Self::new(pc, sp, fp.into(), 0)
        };
        for (number, value) in (4..11_u32).zip(kept) {
            registers.set(number, (*value).into());
        }
        registers
    }

    /// Sets one of `r0` to `r10` and `r12`.
    fn set(&mut self, register: u32, value: u64) {
        if register != R11
            && let Some(place) = self.general.get_mut(register as usize)
        {
            *place = value;
            self.known |= 1_u16.wrapping_shl(register);
        }
    }
}

impl Sealed for Registers {
    #[inline(always)]
    fn set(&mut self, pc: u64, sp: u64, fp: u64) {
        (self.pc, self.sp, self.fp) = (pc, sp, fp);
    }
}

impl RegisterSet for Registers {
    const MACHINE: Machine = Machine::Arm;
    const WORD: u64 = 4;
    const STACK_POINTER: u32 = SP;
    const PROGRAM_COUNTER: u32 = PC;
    // The ABI asks for 8 where functions call others across modules, and for 4 everywhere.
    const CFA_ALIGNMENT: u64 = 4;
    const RECORD_IS_TOP_OF_FRAME: bool = false;
    const FOLLOWS_ALL: bool = true;

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
            LR => self.lr,
            _ => {
                let value = self.general.get(register as usize).copied();
                value.filter(|_| self.known.wrapping_shr(register) & 1 != 0)
            }
        }
    }

    fn link(&self) -> Option<u64> {
        self.lr
    }

    fn sp_at(cfa: u64) -> u64 {
        cfa
    }

    /// The bit for Thumb is kept: the call before a return address is read by it.
    fn strip(&self, address: u64) -> u64 {
        address
    }

    fn learn(&mut self, register: u32, value: u64) {
        match register {
            LR => self.lr = Some(value),
            // Arm Architecture Reference Manual for ARMv7-A, B1.3.1 "ARM processor modes": M[4:0] of user mode.
            SPSR => self.user = value & 0x1f == 0x10,
            _ => self.set(register, value),
        }
    }

    fn forget(&mut self, register: u32) {
        self.known &= !1_u16.checked_shl(register).unwrap_or(0);
    }

    fn is_user(&self) -> bool {
        self.user
    }

    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self {
        Self {
            pc: Self::place(pc),
            sp,
            fp,
            lr: None,
            at_call: false,
            known: self.known & KEPT_IN_CALLS,
            ..*self
        }
    }
}
