//! Registers of s390x, for dumps that are analysed on a host.
//!
//! Every caller reserves 160 bytes above its stack pointer for its callee. These bytes belong to the stack, so for a complete walk the
//! declared stack must end 160 bytes above the outermost function's `r15`.
//!
//! ABI: "ELF Application Binary Interface, s390x Supplement".

mod code;

use crate::registers::{Machine, RegisterSet, sealed::Sealed};

/// The distance from the stack pointer to the canonical frame address in bytes: the area that every caller reserves for its callee.
pub(crate) const SAVE_AREA: u64 = 160;

/// The DWARF number of the address in the program status word.
pub const PSW_ADDRESS: u32 = 65;
/// The DWARF number of `r11`, the frame pointer in functions that have one.
pub const R11: u32 = 11;
/// The DWARF number of `r14`, the link register.
pub const R14: u32 = 14;
/// The DWARF number of `r15`, the stack pointer.
pub const R15: u32 = 15;
/// The DWARF number of the first of the 16 floating-point registers.
pub const F0: u32 = 16;

/// The registers of a frame on s390x.
///
/// ```
/// use unwind::{RegisterSet, s390x::Registers};
///
/// // PSW address, r15, r11 and r14 of a dump.
/// let registers = Registers::new(0x10_0200, 0x8_f000, 0, 0x10_0100);
/// assert_eq!(registers.link(), Some(0x10_0100));
/// // The canonical frame address is 160 bytes above the caller's stack pointer.
/// assert_eq!(Registers::sp_at(0x9_00a0), 0x9_0000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// The instruction address in the PSW (program status word).
    pub pc: u64,
    /// `r15`, the stack pointer, an address.
    pub sp: u64,
    /// `r11`, the frame pointer in functions that have one.
    pub fp: u64,
    /// `r14`, the link register. Known in the first frame and in interrupted frames.
    pub lr: Option<u64>,
    /// DWARF registers 16 to 31: the floating-point registers, in DWARF's order. Leaf functions may save `r11` and `r14` there. Known at
    /// most in the first frame.
    pub floating: Option<[u64; 16]>,
}

impl Registers {
    /// Creates the registers of the first frame of a walk from the PSW address, `r15`, `r11` and `r14`. Floating-point registers are
    /// unknown.
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

    /// Returns false: no trap frame of this architecture contains the location of the processor state.
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
