//! Registers of x86-64.
//!
//! ABI: "System V Application Binary Interface, AMD64 Architecture Processor Supplement"; DWARF numbers in its figure 3.36.

mod code;
mod effect;
mod length;

use crate::registers::{Machine, PUSHED_WORDS, Pushed, RegisterSet, sealed::Sealed};

/// The DWARF number of `rbp`.
pub const RBP: u32 = 6;
/// The DWARF number of `rsp`.
pub const RSP: u32 = 7;
/// The DWARF number of `r10`.
pub const R10: u32 = 10;
/// The DWARF number of `r11`.
pub const R11: u32 = 11;
/// The DWARF number of the return address, and of `rip`.
pub const RIP: u32 = 16;
/// The DWARF number of `cs`. Its two lowest bits are the privilege level: 3 in user code.
pub const CS: u32 = 51;

/// The registers of a frame on x86-64.
///
/// ```
/// use unwind::x86_64::Registers;
///
/// // From an exception handler: rip, rsp and cs as the processor pushed them, and rbp.
/// let (rip, rsp, rbp, cs) = (0x10_0eeb, 0x9_ff40, 0x9_ff60, 0x8);
/// let mut registers = Registers::new(rip, rsp, rbp).with_cs(cs);
/// registers.r10 = Some(0x9_ffe0);
/// assert!(!registers.user);
/// assert_eq!(registers.pc, 0x10_0eeb);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// `rip`, an address.
    pub pc: u64,
    /// `rsp`, an address.
    pub sp: u64,
    /// `rbp`, the frame pointer in functions that have one.
    pub fp: u64,
    /// `r10`: the base of the frame in prologues that realign the stack. Known at most in the first and in interrupted frames.
    pub r10: Option<u64>,
    /// `r11`: the return address in some hand-written thunks. Known at most in the first and in interrupted frames.
    pub r11: Option<u64>,
    /// Whether these are registers of user code: the saved `cs` has privilege level 3.
    pub user: bool,
}

impl Registers {
    /// Creates the registers of a kernel frame from `rip`, `rsp` and `rbp`. `r10` and `r11` are unknown.
    #[must_use]
    pub const fn new(pc: u64, sp: u64, fp: u64) -> Self {
        Self {
            pc,
            sp,
            fp,
            r10: None,
            r11: None,
            user: false,
        }
    }

    /// Sets [`Self::user`] from `cs`, as the exception saved it. Does not keep `cs`.
    ///
    /// ```
    /// use unwind::{End, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
    ///
    /// // A walk that starts in user code, whose frames are not listed, ends there.
    /// let registers = Registers::new(0x40_1000, 0x7fff_0000, 0).with_cs(0x33);
    /// assert!(registers.user);
    /// let unwinder = Unwinder::new(Tables::none());
    /// let mut frames = unwinder.frames(registers, Stacks::new(&[], |_| None));
    /// assert_eq!(frames.by_ref().count(), 1);
    /// assert_eq!(frames.end(), Some(End::User(0x40_1000)));
    /// ```
    #[must_use]
    pub const fn with_cs(mut self, cs: u64) -> Self {
        // Intel's manual, volume 3, 3.4.2 "Segment Selectors": the requested privilege level is that of the interrupted code.
        self.user = cs & 3 == 3;
        self
    }
}

impl Sealed for Registers {
    // Intel's manual, volume 3, 6.14.2 "64-Bit Mode Stack Frame": rip, cs, rflags, rsp and ss.
    const PUSHED: Option<Pushed> = Some(Pushed {
        stack_pointer: 24,
        state: (CS, 8),
        end: 40,
    });

    // The processor pushes from an address that is a multiple of 16 (the same section). Segment selectors have 16 bits; that of code is not null.
    // Volume 1, figure 3-8 "EFLAGS Register": bit 1 is set, and the reserved ones are clear.
    fn is_pushed(at: u64, [_, cs, flags, sp, ss]: [u64; PUSHED_WORDS]) -> bool {
        const SIZE: u64 = 8 * PUSHED_WORDS as u64;
        const SELECTOR: u64 = 0xffff;
        const ALWAYS: u64 = 1 << 1;
        const RESERVED: u64 = !0 << 22 | 1 << 15 | 1 << 5 | 1 << 3;
        let end = at.wrapping_add(SIZE);
        let is_aligned = end.is_multiple_of(16);
        let are_selectors = cs <= SELECTOR && cs & !3 != 0 && ss <= SELECTOR;
        let are_flags = flags & (ALWAYS | RESERVED) == ALWAYS;
        // On the stack that it was on, the processor pushes at the next such address.
        let is_below = sp < at || sp >= end;
        is_aligned && are_selectors && are_flags && is_below
    }

    #[inline(always)]
    fn set(&mut self, pc: u64, sp: u64, fp: u64) {
        (self.pc, self.sp, self.fp) = (pc, sp, fp);
    }
}

impl RegisterSet for Registers {
    const MACHINE: Machine = Machine::X86_64;
    const WORD: u64 = 8;
    const STACK_POINTER: u32 = RSP;
    const PROGRAM_COUNTER: u32 = RIP;
    // The ABI requires 16 at calls, but hand-written assembly and kernels built with 8-byte stack alignment do not.
    const CFA_ALIGNMENT: u64 = 8;
    const RECORD_IS_TOP_OF_FRAME: bool = true;

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
            R10 => self.r10,
            R11 => self.r11,
            _ => None,
        }
    }

    fn link(&self) -> Option<u64> {
        None
    }

    fn sp_at(cfa: u64) -> u64 {
        cfa
    }

    fn strip(&self, address: u64) -> u64 {
        address
    }

    fn learn(&mut self, register: u32, value: u64) {
        match register {
            R10 => self.r10 = Some(value),
            R11 => self.r11 = Some(value),
            CS => *self = self.with_cs(value),
            _ => {}
        }
    }

    fn is_user(&self) -> bool {
        self.user
    }

    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self {
        Self {
            user: self.user,
            ..Self::new(pc, sp, fp)
        }
    }
}
