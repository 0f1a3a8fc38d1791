//! The trap frame: the registers that trap code saves. Manual: D1.3 "Exceptions".

use core::fmt::{self, Write};
use core::mem::offset_of;

use bitflags::bitflags;
use unwind::SavedRegister;
use unwind::aarch64::{ELR, SP, SPSR};

use super::{Registers, Words};
use crate::names::Names;
use crate::stack::{ReadWord, read_words};

/// The registers of the interrupted code, and the cause of the interruption, as trap code stores them on the stack.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapFrame {
    /// The registers `x0` to `x30`.
    pub x: [u64; 31],
    /// The interrupted stack pointer, an address.
    pub sp: u64,
    /// The register `ELR_EL1`, an address: the instruction that failed, or the next instruction to run.
    pub elr: u64,
    /// The register `SPSR_EL1`: the interrupted state.
    pub spsr: u64,
    /// The register `ESR_EL1`: the cause of the exception, a [`Syndrome`](super::Syndrome).
    pub esr: u64,
    /// The register `FAR_EL1`: the address whose access failed, if an access failed.
    pub far: u64,
    /// The vector, 0 to 15. Bit 4 is set if the stack had no space, so that the frame is on the overflow stack.
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
    /// The offsets of registers in the frame, by DWARF number, for [`TrapCode::saved`](crate::TrapCode::saved).
    ///
    /// The registers are the link register, which contains a leaf function's return address; `x9`, which rows need while a prologue allocates a
    /// large frame; the stack pointer, at whose offset walks that start in trap code find the frame; the program counter, which with the
    /// stack pointer shows whether such a frame exists; `SPSR_EL1`, which identifies user code; and the frame's end.
    pub const SAVED: [SavedRegister; 6] = [
        SavedRegister::new(9, (offset_of!(Self, x) as u32).wrapping_add(9 * 8)),
        SavedRegister::new(30, (offset_of!(Self, x) as u32).wrapping_add(30 * 8)),
        SavedRegister::new(SP, offset_of!(Self, sp) as u32),
        SavedRegister::new(ELR, offset_of!(Self, elr) as u32),
        SavedRegister::new(SPSR, offset_of!(Self, spsr) as u32),
        SavedRegister::new(SavedRegister::END, size_of::<Self>() as u32),
    ];

    /// Reads the frame at the address `address`. Returns `None` if `read` cannot read one of its words.
    #[must_use]
    pub fn read(read: ReadWord<'_>, address: u64) -> Option<Self> {
        let words = read_words::<WORDS>(read, address, 8)?;
        // SAFETY: the frame is `repr(C)` of `u64`s, `WORDS` of them, without padding, and every value of a `u64` is valid.
        Some(unsafe { core::mem::transmute::<[u64; WORDS], Self>(words) })
    }

    /// Returns the registers of the interrupted code, from which a walk can start.
    #[must_use]
    pub fn registers(&self) -> Registers {
        let mut registers = Registers::new(self.elr, self.sp, self.x[29], self.x[30]);
        registers.x9 = Some(self.x[9]);
        registers.user = self.is_user();
        registers
    }

    /// Returns whether user code was interrupted: at EL0, and with a vector for EL0. The state alone is not enough, because a state of zero
    /// may be a field that the kernel has not filled in.
    #[must_use]
    pub const fn is_user(&self) -> bool {
        self.spsr & 0xf == 0 && self.vector & 24 == 8
    }

    /// Returns the interrupted program counter, an address.
    #[must_use]
    pub const fn pc(&self) -> u64 {
        self.elr
    }

    /// Sets the address at which the interrupted code continues.
    pub const fn set_pc(&mut self, address: u64) {
        self.elr = address;
    }

    /// Returns the interrupted stack pointer, an address.
    #[must_use]
    pub const fn sp(&self) -> u64 {
        self.sp
    }

    /// Returns the text of the exception: the cause and the place.
    #[must_use]
    pub const fn words<'a>(&'a self, names: &'a dyn Names) -> Words<'a> {
        Words::new(self, names)
    }

    /// Writes all registers, in lines.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_registers(&self, names: &dyn Names, out: &mut dyn Write) -> fmt::Result {
        for (number, value) in self.x.iter().enumerate() {
            write!(out, "  x{number:<2} {value:#018x}")?;
            if number % 4 == 3 {
                out.write_str("\n")?;
            }
        }
        writeln!(out, "  sp  {:#018x}", self.sp)?;
        let Self { elr, far, esr, .. } = self;
        writeln!(out, "  pc  {elr:#018x}  far {far:#018x}  esr {esr:#010x}")?;
        write!(out, "  spsr {:#010x}", self.spsr)?;
        for (name, _) in State::from_bits_truncate(self.spsr).iter_names() {
            write!(out, " {name}")?;
        }
        out.write_str(", ")?;
        match self.is_user() {
            true => out.write_str("user code\n"),
            false => {
                names.write_place(out, self.sp)?;
                out.write_str("\n")
            }
        }
    }
}
