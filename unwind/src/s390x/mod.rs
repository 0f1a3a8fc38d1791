//! s390x: the registers of a walk, for dumps that are analysed on a host. ABI: "ELF Application Binary Interface, s390x
//! Supplement".
//!
//! Every caller keeps 160 bytes above its stack pointer for its callee, and they are a part of the stack: a declared stack of a
//! complete walk ends 160 bytes above the outermost function's `r15`.

mod code;

use crate::registers::{Machine, RegisterSet, sealed::Sealed};

/// Bytes from the stack pointer to the canonical frame address: the area that every caller keeps for its callee.
pub(crate) const SAVE_AREA: u64 = 160;

/// The DWARF number of the address in the program status word.
pub const PSW_ADDRESS: u32 = 65;
/// The DWARF number of `r11`, the frame pointer where there is one.
pub const R11: u32 = 11;
/// The DWARF number of `r14`, the link register.
pub const R14: u32 = 14;
/// The DWARF number of `r15`, the stack pointer.
pub const R15: u32 = 15;
/// The DWARF number of the first floating-point register; 16 follow each other.
pub const F0: u32 = 16;

/// The registers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// The instruction address of the PSW.
    pub pc: u64,
    /// `r15`, an address.
    pub sp: u64,
    /// `r11`.
    pub fp: u64,
    /// `r14`, the link register. Known in the innermost and in interrupted frames.
    pub lr: Option<u64>,
    /// DWARF registers 16 to 31 (the floating-point registers, in DWARF's order), where leaf functions keep `r11`
    /// and `r14`. Known in interrupted frames at most.
    pub floating: Option<[u64; 16]>,
}

impl Registers {
    /// The registers of the innermost or an interrupted frame; floating-point registers unknown.
    #[must_use]
    pub const fn new(pc: u64, sp: u64, fp: u64, lr: u64) -> Self {
        Self {
            pc,
            sp,
            fp,
            lr: Some(lr),
            floating: None,
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
    const MACHINE: Machine = Machine::S390x;
    const WORD: u64 = 8;
    const STACK_POINTER: u32 = R15;
    const PROGRAM_COUNTER: u32 = PSW_ADDRESS;
    const CFA_ALIGNMENT: u64 = 8;
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
            R14 => self.lr,
            _ => {
                let index = usize::try_from(register.checked_sub(F0)?).ok()?;
                self.floating.as_ref()?.get(index).copied()
            }
        }
    }

    fn link(&self) -> Option<u64> {
        self.lr
    }

    fn sp_at(cfa: u64) -> u64 {
        cfa.wrapping_sub(SAVE_AREA)
    }

    fn strip(&self, address: u64) -> u64 {
        address
    }

    fn learn(&mut self, register: u32, value: u64) {
        if register == R14 {
            self.lr = Some(value);
        }
    }

    /// Not told: no trap frame of this architecture says where it has the state.
    fn is_user(&self) -> bool {
        false
    }

    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self {
        Self {
            pc,
            sp,
            fp,
            lr: None,
            floating: None,
        }
    }
}
