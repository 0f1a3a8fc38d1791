//! What trap code saves. Manual: D1.3 "Exceptions".

use core::fmt::{self, Write};
use core::mem::offset_of;

use bitflags::bitflags;
use unwind::SavedRegister;

use super::{Registers, Words};
use crate::names::Names;
use crate::stack::{ReadWord, read_words};

/// The registers of what was interrupted, and why, as trap code leaves them on the stack.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapFrame {
    /// `x0` to `x30`.
    pub x: [u64; 31],
    /// The interrupted stack pointer, an address.
    pub sp: u64,
    /// `ELR_EL1`, an address: where the exception came. That is the instruction that failed, or the next one.
    pub elr: u64,
    /// `SPSR_EL1`: the interrupted state.
    pub spsr: u64,
    /// `ESR_EL1`: what happened, a [`Syndrome`](super::Syndrome).
    pub esr: u64,
    /// `FAR_EL1`: the address that could not be used, if that is what happened.
    pub far: u64,
    /// Which of the 16 vectors, 0 to 15. Bit 4 is set when the stack of exceptions was full, and the frame is on a stack that
    /// is kept for that.
    pub vector: u64,
    /// The interrupt's ID, once it was acknowledged; otherwise 0.
    pub interrupt: u64,
}

/// Words of a [`TrapFrame`].
const WORDS: usize = size_of::<TrapFrame>() / 8;

bitflags! {
    /// The interrupted state: "SPSR_EL1, Saved Program Status Register", from AArch64.
    #[derive(Clone, Copy)]
    struct State: u64 {
        /// Which stack pointer: SP_EL1 if set, SP_EL0 if clear.
        const SP_ELX = 1;
        const FIQ_MASKED = 1 << 6;
        const IRQ_MASKED = 1 << 7;
        const SERROR_MASKED = 1 << 8;
        const DEBUG_MASKED = 1 << 9;
        const ILLEGAL_STATE = 1 << 20;
        const SOFTWARE_STEP = 1 << 21;
        const OVERFLOW = 1 << 28;
        const CARRY = 1 << 29;
        const ZERO = 1 << 30;
        const NEGATIVE = 1 << 31;
    }
}

impl TrapFrame {
    /// Where the frame has the link register, where a leaf's return address is; the register that rows ask for while a prologue
    /// makes room for a big frame; and the stack pointer, from whose place walks that start in trap code find the others. By
    /// their DWARF numbers.
    pub const SAVED: [SavedRegister; 3] = [
        SavedRegister::new(9, (offset_of!(Self, x) as u32).wrapping_add(9 * 8)),
        SavedRegister::new(30, (offset_of!(Self, x) as u32).wrapping_add(30 * 8)),
        SavedRegister::new(31, offset_of!(Self, sp) as u32),
    ];

    /// The frame at this address of a stack, if its words can be read.
    #[must_use]
    pub fn read(read: ReadWord<'_>, address: u64) -> Option<Self> {
        let words = read_words::<WORDS>(read, address)?;
        // SAFETY: the frame consists of so many words, all values of which are valid.
        Some(unsafe { core::mem::transmute::<[u64; WORDS], Self>(words) })
    }

    /// The registers of what was interrupted, from which a walk can start.
    #[must_use]
    pub fn registers(&self) -> Registers {
        let mut registers = Registers::new(self.elr, self.sp, self.x[29], self.x[30]);
        registers.x9 = Some(self.x[9]);
        registers
    }

    /// The interrupted program counter, an address.
    #[must_use]
    pub const fn pc(&self) -> u64 {
        self.elr
    }

    /// Makes what was interrupted go on at this address.
    pub const fn set_pc(&mut self, address: u64) {
        self.elr = address;
    }

    /// The interrupted stack pointer, an address.
    #[must_use]
    pub const fn sp(&self) -> u64 {
        self.sp
    }

    /// What happened, in words.
    #[must_use]
    pub const fn words<'a>(&'a self, names: &'a dyn Names) -> Words<'a> {
        Words::new(self, names)
    }

    /// Writes all registers, in lines.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_registers(&self, names: &dyn Names, out: &mut dyn Write) -> fmt::Result {
        for (number, value) in self.x.iter().enumerate() {
            write!(out, "  x{number:<2} {value:#018x}")?;
            if number % 4 == 3 {
                out.write_str("\n")?;
            }
        }
        writeln!(out, "  sp  {:#018x}", self.sp)?;
        writeln!(
            out,
            "  pc  {:#018x}  far {:#018x}  esr {:#010x}",
            self.elr, self.far, self.esr
        )?;
        write!(out, "  spsr {:#010x}", self.spsr)?;
        for (name, _) in State::from_bits_truncate(self.spsr).iter_names() {
            write!(out, " {name}")?;
        }
        out.write_str(", ")?;
        names.write_place(out, self.sp)?;
        out.write_str("\n")
    }
}
