//! Registers of AArch64.
//!
//! ABI: "Procedure Call Standard for the Arm 64-bit Architecture" and "DWARF for the Arm 64-bit Architecture".

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

/// The DWARF number of `ELR_EL1`, in which an exception stores the interrupted program counter. ("DWARF for the Arm 64-bit
/// Architecture", section "DWARF register names": `ELR_mode`.)
pub const ELR: u32 = 33;

/// The number of `SP_EL0` in rules: the interrupted stack pointer while exceptions run on `SP_EL1`.
///
/// DWARF has no number for this register, so the number is the register's encoding in `mrs` (Arm Architecture Reference Manual, C6.2
/// "MRS": o0, op1, CRn, CRm, op2, here 1, 0, 4, 1, 0). DWARF's numbers end at 127, and all encodings are greater. In assembly:
/// `.cfi_register sp, 0x4208`.
pub const SP_EL0: u32 = 0x4208;

/// The number of `SPSR_EL1` in trap frames: the saved processor state. The number is the register's encoding, as for [`SP_EL0`] (1, 0, 4, 0,
/// 0).
pub const SPSR: u32 = 0x4200;

/// The registers of a frame on AArch64.
///
/// ```
/// use unwind::aarch64::Registers;
///
/// // From an exception handler: x0 to x30 and sp, and ELR_EL1 and SPSR_EL1, in which the exception stored pc and the processor state.
/// let mut x = [0; 31];
/// (x[29], x[30]) = (0x8_0ff0, 0x8_1234);
/// let registers = Registers::interrupted(&x, 0x8_0fe0, 0x8_5678, 0x3c5);
/// assert_eq!((registers.pc, registers.fp, registers.lr), (0x8_5678, 0x8_0ff0, Some(0x8_1234)));
/// // The mode in SPSR_EL1 is EL1h.
/// assert!(!registers.user);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// `pc`, an address.
    pub pc: u64,
    /// `sp`, an address.
    pub sp: u64,
    /// `x29`, the frame pointer in functions that have one.
    pub fp: u64,
    /// `x30`, the link register. Known in the first frame and in interrupted frames.
    pub lr: Option<u64>,
    /// `x9`: the base of the frame in prologues that probe a large frame page by page. Known at most in the first and in interrupted frames.
    pub x9: Option<u64>,
    /// `ELR_EL1`, an address: the interrupted program counter, before trap code saves it and after trap code restores it.
    ///
    /// Only a debugger outside the CPU can know this value, and only in the innermost frame, because an exception in trap code overwrites the
    /// register.
    pub elr: Option<u64>,
    /// `SP_EL0`, an address: the interrupted stack pointer while exceptions run on `SP_EL1`. Set by a debugger, as [`Self::elr`].
    pub sp_el0: Option<u64>,
    /// `SPSR_EL1`, the saved processor state. Set by a debugger, as [`Self::elr`]; [`Self::with_spsr`] does not set it.
    pub spsr: Option<u64>,
    /// Whether these are registers of user code: the saved processor state is a state of EL0.
    pub user: bool,
    /// A mask of the address bits that contain a pointer authentication code, for all frames; 0 without pointer authentication.
    pub authentication_bits: u64,
}

/// Bit 55 of a virtual address selects the half of the address space (Arm Architecture Reference Manual, D8.1 "Address translation").
/// Pointer authentication does not change it.
const HALF: u64 = 1 << 55;

impl Registers {
    /// Creates the registers of the first frame of a walk from `pc`, `sp`, `x29` and `x30`, without pointer authentication.
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

    /// Creates the registers that an exception interrupted, without pointer authentication: `general` contains `x0` to `x30`, and `elr` and
    /// `spsr` are the values of `ELR_EL1` and `SPSR_EL1` after the exception.
    #[must_use]
    pub const fn interrupted(general: &[u64; 31], sp: u64, elr: u64, spsr: u64) -> Self {
        let [_, _, _, _, _, _, _, _, _, x9, .., fp, lr] = *general;
        let mut registers = Self::new(elr, sp, fp, lr).with_spsr(spsr);
        registers.x9 = Some(x9);
        registers
    }

    /// Sets [`Self::user`] from `SPSR_EL1`, as the exception saved it. Does not set [`Self::spsr`].
    ///
    /// ```
    /// use unwind::aarch64::Registers;
    ///
    /// let registers = Registers::new(0x1000, 0x8000, 0, 0).with_spsr(0);
    /// assert!(registers.user);
    /// assert_eq!(registers.spsr, None);
    /// ```
    #[must_use]
    pub const fn with_spsr(mut self, spsr: u64) -> Self {
        // Arm Architecture Reference Manual, "SPSR_EL1": M[3:0] is the exception level and the stack pointer; AArch32's user
        // mode is 0 too.
        self.user = spsr & 0xf == 0;
        self
    }

    /// Sets the mask of the address bits that may contain a pointer authentication code: the bits above the virtual address size, except
    /// bit 55. For 48-bit addresses without tags, the mask is `0xff7f_0000_0000_0000`.
    ///
    /// ```
    /// use unwind::{RegisterSet, aarch64::Registers};
    ///
    /// let registers = Registers::new(0, 0, 0, 0).with_authentication_bits(0xff7f_0000_0000_0000);
    /// assert_eq!(registers.strip(0x2a55_0000_0008_1234), 0x8_1234);
    /// // Bit 55 is set in addresses of the upper half.
    /// assert_eq!(registers.strip(0x2ad5_8000_0008_1234), 0xffff_8000_0008_1234);
    /// ```
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

    /// Removes the authentication bits as `xpaci` does: sets them to zeros in an address of the lower half, to ones in the upper half.
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
