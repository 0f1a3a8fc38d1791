//! The interface to a frame's registers, for every architecture.

use core::fmt::Debug;

use crate::row::Base;

/// A processor architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// AArch64, of either byte order.
    AArch64,
    /// s390x.
    S390x,
    /// 32-bit ARM, little-endian.
    Arm,
}

/// The registers of one frame. The `Registers` of each architecture's module implement this trait, and other crates cannot implement it.
///
/// ```
/// use unwind::{RegisterSet, x86_64};
///
/// fn describe<R: RegisterSet>(registers: &R) -> String {
///     format!("{:?}: pc {:#x}, sp {:#x}", R::MACHINE, registers.pc(), registers.sp())
/// }
/// let registers = x86_64::Registers::new(0x1018, 0x8000, 0);
/// assert_eq!(describe(&registers), "X86_64: pc 0x1018, sp 0x8000");
/// ```
pub trait RegisterSet: Copy + Debug + PartialEq + Eq + sealed::Sealed {
    /// The architecture of the registers.
    const MACHINE: Machine;

    /// The size of a word on the stack (a return address or a saved register) in bytes: 4 or 8.
    const WORD: u64;

    /// The alignment of a canonical frame address in bytes.
    const CFA_ALIGNMENT: u64;

    /// Whether a frame record (saved frame pointer and return address) ends where the caller's stack begins. True on x86-64, where `push`
    /// and `call` write the record. On AArch64 the record may be anywhere in the frame.
    const RECORD_IS_TOP_OF_FRAME: bool;

    /// Whether a walk restores further registers of callers, whose locations rows contain
    /// ([`RowSource::restored`](crate::RowSource::restored)). If not, a walk has no code for it.
    const FOLLOWS_ALL: bool = false;

    /// The DWARF number of the stack pointer.
    const STACK_POINTER: u32;

    /// The DWARF number of the interrupted program counter in [`Unwinder::trap_registers`](crate::Unwinder::trap_registers).
    const PROGRAM_COUNTER: u32;

    /// Returns the program counter, an address.
    fn pc(&self) -> u64;

    /// Returns the stack pointer, an address.
    fn sp(&self) -> u64;

    /// Returns the frame pointer register: an address or, in a function without a frame pointer, any value.
    fn fp(&self) -> u64;

    /// Returns the value of another register, by its DWARF number; `None` if the value is not known.
    fn other(&self, register: u32) -> Option<u64>;

    /// Returns the link register; `None` if the architecture has none or the value is not known.
    fn link(&self) -> Option<u64>;

    /// Returns the caller's stack pointer if the canonical frame address is `cfa`.
    fn sp_at(cfa: u64) -> u64;

    /// Returns a return address without its pointer authentication code.
    fn strip(&self, address: u64) -> u64;

    /// Sets the value of another register that trap code saved, by its DWARF number. Ignores registers that no rule uses.
    fn learn(&mut self, register: u32, value: u64);

    /// Makes the value of another register unknown, by its DWARF number. Does nothing if [`Self::FOLLOWS_ALL`] is false.
    fn forget(&mut self, register: u32) {
        let _ = register;
    }

    /// Checks whether these are registers of user code, by the processor state that trap code saved.
    fn is_user(&self) -> bool;

    /// Returns the registers of the caller, with these three values. Whether it is user code stays; other registers are unknown, except
    /// registers that calls preserve if [`Self::FOLLOWS_ALL`] is true.
    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self;
}

/// Returns the value of a rule's base, except the CFA.
pub(crate) fn base_value<R: RegisterSet>(registers: &R, base: Base) -> Option<u64> {
    match base {
        Base::StackPointer => Some(registers.sp()),
        Base::FramePointer => Some(registers.fp()),
        Base::Register(number) => registers.other(number),
        Base::Cfa => None,
    }
}

/// Returns the canonical frame address of a function that is called with this stack pointer. The stack up to this address belongs to the
/// function and its callees. On s390x it includes the area that a caller reserves for its callee.
pub(crate) fn cfa_at<R: RegisterSet>(sp: u64) -> u64 {
    sp.wrapping_sub(R::sp_at(0))
}

/// Returns `address + offset`, modulo 2 to the power of the architecture's word size in bits.
pub(crate) const fn offset_address<R: RegisterSet>(address: u64, offset: i64) -> u64 {
    let sum = address.wrapping_add_signed(offset);
    if R::WORD == 4 { sum & 0xffff_ffff } else { sum }
}

/// The layout of the words that the processor pushes at an exception. Offsets are bytes from the program counter.
#[derive(Clone, Copy, Debug)]
pub struct Pushed {
    /// The offset of the stack pointer.
    pub(crate) stack_pointer: i64,
    /// The DWARF number of the register that contains the privilege level, and its offset.
    pub(crate) state: (u32, u64),
    /// The offset of the end.
    pub(crate) end: u64,
}

/// The number of words that the processor pushes at an exception.
pub(crate) const PUSHED_WORDS: usize = 5;

pub(crate) mod sealed {
    pub trait Sealed: crate::code::Instructions {
        /// The layout of the words that the processor pushes, if it pushes any.
        const PUSHED: Option<super::Pushed> = None;

        /// Checks whether the processor can have pushed these words, from address `at` on: the program counter and the words after it.
        #[must_use]
        fn is_pushed(_at: u64, _words: [u64; super::PUSHED_WORDS]) -> bool {
            false
        }

        /// Sets the three registers that every frame has, and does not change the others.
        fn set(&mut self, pc: u64, sp: u64, fp: u64);
    }
}
