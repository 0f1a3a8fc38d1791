//! The trap frame: the registers that trap code saves. Manual: B1.8 "Exception handling".

use core::fmt::{self, Write};
use core::mem::offset_of;

use bitflags::bitflags;
use unwind::SavedRegister;
use unwind::arm::{LR, PC, SP, SPSR};

use super::{Registers, Words};
use crate::names::Names;
use crate::stack::{ReadWord, read_words};

/// The registers of the interrupted code, and the cause of the interruption, as trap code stores them on the stack.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrapFrame {
    /// The registers `r0` to `r12`.
    pub r: [u32; 13],
    /// The interrupted stack pointer, an address.
    pub sp: u32,
    /// The interrupted link register.
    pub lr: u32,
    /// The instruction that failed, or the next instruction to run: an address, without the bit for Thumb.
    pub pc: u32,
    /// The register `SPSR`: the interrupted state.
    pub spsr: u32,
    /// The vector, 0 to 7. Bit 4 is set if the stack had no space, so that the frame is on the overflow stack.
    pub vector: u32,
    /// The register `DFSR` of a data abort, or `IFSR` of a prefetch abort: the cause, a [`Status`](super::Status).
    pub fsr: u32,
    /// The register `DFAR` or `IFAR`: the address whose access failed, if an access failed.
    pub far: u32,
    /// The interrupt's ID, once it was acknowledged; otherwise 0.
    pub interrupt: u32,
    /// The stack pointer of the stack that contains the frame, before the frame was written.
    pub above: u32,
    /// The words in which the return code stores what it loads last.
    pub unused: [u32; 2],
}

/// Words of a [`TrapFrame`].
const WORDS: usize = size_of::<TrapFrame>() / 4;

bitflags! {
    /// The interrupted state: B1.3.3 "Program Status Registers".
    #[derive(Clone, Copy)]
    struct State: u32 {
        const THUMB = 1 << 5;
        const FIQ_MASKED = 1 << 6;
        const IRQ_MASKED = 1 << 7;
        const ASYNCHRONOUS_ABORT_MASKED = 1 << 8;
        const BIG_ENDIAN = 1 << 9;
        const OVERFLOW = 1 << 28;
        const CARRY = 1 << 29;
        const ZERO = 1 << 30;
        const NEGATIVE = 1 << 31;
    }
}

/// The modes, by the low five bits of the state (B1.3.1 "ARM processor modes").
const MODES: [(u32, &str); 9] = [
    (0x10, "user"),
    (0x11, "FIQ"),
    (0x12, "IRQ"),
    (0x13, "supervisor"),
    (0x16, "monitor"),
    (0x17, "abort"),
    (0x1a, "hyp"),
    (0x1b, "undefined"),
    (0x1f, "system"),
];

impl TrapFrame {
    /// The offsets of registers in the frame, by DWARF number, for [`TrapCode::saved`](crate::TrapCode::saved).
    ///
    /// The registers are the link register, which contains a leaf function's return address; the stack pointer, at whose offset walks that start in
    /// trap code find the frame; the program counter, which with the stack pointer shows whether such a frame exists; the state, which
    /// identifies user code; and the frame's end.
    pub const SAVED: [SavedRegister; 5] = [
        SavedRegister::new(LR, offset_of!(Self, lr) as u32),
        SavedRegister::new(SP, offset_of!(Self, sp) as u32),
        SavedRegister::new(PC, offset_of!(Self, pc) as u32),
        SavedRegister::new(SPSR, offset_of!(Self, spsr) as u32),
        SavedRegister::new(SavedRegister::END, size_of::<Self>() as u32),
    ];

    /// Reads the frame at the address `address`. Returns `None` if `read` cannot read one of its words.
    #[must_use]
    pub fn read(read: ReadWord<'_>, address: u64) -> Option<Self> {
        let words = read_words::<WORDS>(read, address, 4)?.map(|word| word as u32);
        // SAFETY: the frame is `repr(C)` of `u32`s, `WORDS` of them, without padding, and every value of a `u32` is valid.
        Some(unsafe { core::mem::transmute::<[u32; WORDS], Self>(words) })
    }

    /// Returns the registers of the interrupted code, from which a walk can start.
    #[must_use]
    pub fn registers(&self) -> Registers {
        let mut core = [0; 16];
        let all = self.r.iter().chain([&self.sp, &self.lr, &self.pc]);
        core.iter_mut()
            .zip(all)
            .for_each(|(register, value)| *register = *value);
        let mut registers = Registers::of(&core);
        registers.user = self.is_user();
        registers
    }

    /// Returns whether user code was interrupted.
    #[must_use]
    pub const fn is_user(&self) -> bool {
        self.spsr & 0x1f == 0x10
    }

    /// Returns whether Thumb code was interrupted.
    #[must_use]
    pub const fn is_thumb(&self) -> bool {
        self.spsr & State::THUMB.bits() != 0
    }

    /// Returns the interrupted program counter, an address.
    #[must_use]
    pub const fn pc(&self) -> u64 {
        self.pc as u64
    }

    /// Sets the address at which the interrupted code continues, in the same state: ARM or Thumb.
    pub const fn set_pc(&mut self, address: u64) {
        self.pc = address as u32;
    }

    /// Returns the interrupted stack pointer, an address.
    #[must_use]
    pub const fn sp(&self) -> u64 {
        self.sp as u64
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
        for (number, value) in self.r.iter().enumerate() {
            write!(out, "  r{number:<2} {value:#010x}")?;
            if number % 4 == 3 {
                out.write_str("\n")?;
            }
        }
        writeln!(out, "  sp  {:#010x}  lr  {:#010x}", self.sp, self.lr)?;
        let Self { pc, far, fsr, .. } = self;
        writeln!(out, "  pc  {pc:#010x}  far {far:#010x}  fsr {fsr:#010x}")?;
        write!(out, "  spsr {:#010x}", self.spsr)?;
        let mode = MODES.iter().find(|(bits, _)| *bits == self.spsr & 0x1f);
        write!(out, " {} mode", mode.map_or("unknown", |(_, name)| name))?;
        for (name, _) in State::from_bits_truncate(self.spsr).iter_names() {
            write!(out, " {name}")?;
        }
        out.write_str(", ")?;
        match self.is_user() {
            true => out.write_str("user code\n"),
            false => {
                names.write_place(out, self.sp())?;
                out.write_str("\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_is_as_trap_code_writes_it() {
        let mut next = 0;
        let words = |address: u64| {
            next = address;
            (address.is_multiple_of(4)).then_some(address - 0x1000)
        };
        let words = core::cell::RefCell::new(words);
        let frame = TrapFrame::read(&|address| (words.borrow_mut())(address), 0x1000);
        let frame = frame.expect("all words can be read");
        assert_eq!(
            (frame.r[12], frame.sp, frame.lr, frame.pc),
            (48, 52, 56, 60)
        );
        assert_eq!(
            (frame.spsr, frame.vector, frame.fsr, frame.far),
            (64, 68, 72, 76)
        );
        assert_eq!((frame.interrupt, frame.above), (80, 84));
        assert_eq!(size_of::<TrapFrame>(), 96);
        let registers = frame.registers();
        assert_eq!(
            (registers.pc, registers.sp, registers.lr),
            (60, 52, Some(56))
        );
        assert!(!registers.user && !registers.at_call);
    }
}
