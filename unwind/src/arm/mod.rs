//! Registers of 32-bit ARM, little-endian, for ARM and Thumb code.
//!
//! The lowest bit of a return address selects Thumb code, and is not part of the address: frames have the bit cleared.
//!
//! ABI: "Procedure Call Standard for the Arm Architecture" and "DWARF for the Arm Architecture", section "DWARF register names".
//!
//! ```
//! use unwind::{ArmTables, Code, End, Range, Stacks, Unwinder, arm::Registers};
//!
//! /// Walks from the interrupted registers `r0` to `r15`, and returns why the list ends.
//! fn walk(tables: ArmTables<'_>, code: Code<'_>, core: &[u32; 16], stack: Range) -> Option<End> {
//!     let (code, stacks) = ([code], [stack]);
//!     // A word has 4 bytes. The closure is called only for aligned words in `stacks`, which the kernel owns.
//!     let read = |address: u64| Some(unsafe { (address as *const u32).read_volatile() }.into());
//!     let unwinder = Unwinder::new(tables).code(&code);
//!     let mut frames = unwinder.frames(Registers::of(core), Stacks::new(&stacks, read));
//!     frames.by_ref().for_each(|frame| println!("{:#x} {}", frame.pc, frame.letter()));
//!     frames.end()
//! }
//! ```

mod code;

use crate::code::Instructions;
use crate::registers::{Machine, RegisterSet, sealed::Sealed};

/// The DWARF number of `r11`, the frame pointer of ARM code. The frame pointer of Thumb code is `r7`.
pub const R11: u32 = 11;
/// The DWARF number of `sp`.
pub const SP: u32 = 13;
/// The DWARF number of `lr`, the link register.
pub const LR: u32 = 14;
/// The DWARF number of `pc`.
pub const PC: u32 = 15;
/// The DWARF number of `SPSR`, the processor state that an exception saved.
pub const SPSR: u32 = 128;

/// The number of slots, for `r0` to `r12`. The slot of `r11` is unused, because `r11` is in `fp`.
const GENERAL: usize = 13;

/// A mask of `r4` to `r10`, which a call preserves.
const KEPT_IN_CALLS: u16 = 0x7f0;

/// The registers of a frame on 32-bit ARM. Values have 32 bits.
///
/// ```
/// use unwind::{RegisterSet, arm::Registers};
///
/// // r0 to r15 of an interrupted function in Thumb code.
/// let mut core = [0_u32; 16];
/// (core[4], core[13], core[14], core[15]) = (7, 0x8_0000, 0x1_0101, 0x1_0203);
/// let registers = Registers::of(&core);
/// // The bit for Thumb is not part of the address.
/// assert_eq!(registers.pc, 0x1_0202);
/// assert_eq!((registers.sp, registers.lr), (0x8_0000, Some(0x1_0101)));
/// assert_eq!(registers.other(4), Some(7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// `pc`, an address, without the bit for Thumb.
    pub pc: u64,
    /// `sp`, an address.
    pub sp: u64,
    /// `r11`, the frame pointer in functions of ARM code that have one.
    pub fp: u64,
    /// `lr`, with the bit for Thumb. Known in the first frame and in interrupted frames.
    pub lr: Option<u64>,
    /// Whether these are registers of user code: the saved processor state is user mode.
    pub user: bool,
    /// Whether `pc` is a return address, because [`Self::after_call`] created these registers. For the code that starts a walk: if true,
    /// use [`Unwinder::frames_from_call`](crate::Unwinder::frames_from_call). A walk does not read this field.
    pub at_call: bool,
    /// A mask of the known registers among `r0` to `r10` and `r12`.
    known: u16,
    general: [u64; GENERAL],
}

impl Registers {
    /// Creates the registers of the first frame of a walk from `pc`, `sp`, `r11` and `lr`. Other registers are unknown.
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

    /// Creates the registers of the first frame of a walk from `r0` to `r15`.
    #[must_use]
    pub fn of(core: &[u32; 16]) -> Self {
        let [.., fp, _, sp, lr, pc] = core.map(u64::from);
        let mut registers = Self::new(pc, sp, fp, lr);
        for (number, value) in (0..16_u32).zip(core) {
            registers.set(number, (*value).into());
        }
        registers
    }

    /// Creates the registers of a function after a call that it made: `pc` is the return address, with or without the bit for Thumb, and `kept`
    /// contains `r4` to `r11`. Other registers are unknown. Start the walk with
    /// [`Unwinder::frames_from_call`](crate::Unwinder::frames_from_call).
    ///
    /// ```
    /// use unwind::arm::Registers;
    ///
    /// // A suspended task: the task switch saved r4 to r11, and its return address.
    /// let registers = Registers::after_call(0x1_0101, 0x8_0000, &[4, 5, 6, 7, 8, 9, 10, 11]);
    /// assert!(registers.at_call);
    /// assert_eq!((registers.pc, registers.fp, registers.lr), (0x1_0100, 11, None));
    /// ```
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

    /// Does not remove the bit for Thumb, because it selects how to decode the call before a return address.
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
