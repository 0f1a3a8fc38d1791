//! What trap code saves. Manual: D1.3 "Exceptions".

use core::fmt;
use core::mem::{offset_of, transmute};

use aarch64_cpu::registers::{SP_EL0, Writeable};
use bitflags::bitflags;
use unwind::SavedRegister;

use super::registers::Registers;
use crate::stack::{self, Place};

/// What vectors.s leaves on the stack.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TrapFrame {
    /// `x0` to `x30`.
    pub x: [u64; 31],
    /// The interrupted stack pointer.
    pub sp: u64,
    /// Where the exception came: the instruction that failed, or the next one.
    pub elr: u64,
    /// The interrupted state.
    pub spsr: u64,
    /// What happened.
    pub esr: u64,
    /// The address that could not be used, if that is what happened.
    pub far: u64,
    /// Which of the 16 vectors, and bit 4: the stack of exceptions was full.
    pub vector: u64,
    /// The interrupt's number, once it was acknowledged.
    pub interrupt: u64,
}

/// Words of a [`TrapFrame`].
const WORDS: usize = size_of::<TrapFrame>() / 8;

bitflags! {
    /// The interrupted state: "SPSR_EL1, Saved Program Status Register", from AArch64.
    #[derive(Clone, Copy, Debug)]
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
    /// The link register, where a leaf's return address is, and the one that rows ask for while a prologue makes room for a
    /// big frame; and the stack pointer, from whose place walks that start in trap code know the others'. By their DWARF
    /// numbers.
    pub const SAVED: [SavedRegister; 3] = [
        SavedRegister::new(9, offset_of!(Self, x) as u32 + 9 * 8),
        SavedRegister::new(30, offset_of!(Self, x) as u32 + 30 * 8),
        SavedRegister::new(31, offset_of!(Self, sp) as u32),
    ];

    /// The frame at this address of a stack.
    pub fn read(address: u64) -> Option<Self> {
        let words = stack::read_words::<WORDS>(address)?;
        // SAFETY: as many words, and nothing but words.
        Some(unsafe { transmute::<[u64; WORDS], Self>(words) })
    }

    /// The registers of what was interrupted.
    pub fn registers(&self) -> Registers {
        let mut registers = Registers::new(self.elr, self.sp, self.x[29], self.x[30]);
        registers.x9 = Some(self.x[9]);
        registers
    }

    /// The interrupted program counter, an address.
    pub fn pc(&self) -> u64 {
        self.elr
    }

    /// Has what was interrupted go on so many bytes further.
    pub fn skip(&mut self, bytes: u64) {
        self.elr += bytes;
    }

    /// The interrupted stack pointer, an address.
    pub fn sp(&self) -> u64 {
        self.sp
    }

    /// Makes the interrupted task go on in `trap_preempted` of `vectors.s`, on its own stack, with this frame there. Not
    /// where an exception was interrupted, or where there is no room.
    pub fn move_to_task(&mut self) {
        unsafe extern "C" {
            /// Only the address counts.
            static trap_preempted: u8;
        }
        let place = self.sp.wrapping_sub(size_of::<Self>() as u64);
        let state = State::from_bits_retain(self.spsr);
        if state.contains(State::SP_ELX) || !stack::has_room(place, size_of::<Self>() as u64) {
            return;
        }
        // SAFETY: in a stack, below the stack pointer of who runs there, so nobody uses it.
        unsafe { (place as *mut Self).write(*self) };
        SP_EL0.set(place);
        // What interrupts this before it is left goes by the rules of where it goes on, and they count from there. The way
        // back does not read it.
        self.sp = place;
        self.elr = &raw const trap_preempted as u64;
        self.spsr = state.union(State::IRQ_MASKED).bits();
    }

    /// Writes all of it, for a report.
    pub fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        for (number, value) in self.x.iter().enumerate() {
            write!(f, "  x{number:<2} {value:#018x}")?;
            if number % 4 == 3 {
                f.write_str("\n")?;
            }
        }
        writeln!(f, "  sp  {:#018x}", self.sp)?;
        writeln!(
            f,
            "  pc  {:#018x}  far {:#018x}  esr {:#010x}",
            self.elr, self.far, self.esr
        )?;
        write!(f, "  spsr {:#010x}", self.spsr)?;
        for (name, _) in State::from_bits_truncate(self.spsr).iter_names() {
            write!(f, " {name}")?;
        }
        writeln!(f, ", {}", Place(self.sp))
    }
}
