//! The interface to a frame's registers, the same for every architecture.

use core::fmt::Debug;

use crate::row::Base;

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// AArch64, either byte order.
    AArch64,
    /// s390x.
    S390x,
    /// 32-bit ARM, little-endian.
    Arm,
}

/// The registers of one frame. Implemented by the `Registers` of each architecture's module, and by no other type.
pub trait RegisterSet: Copy + Debug + PartialEq + Eq + sealed::Sealed {
    /// The architecture.
    const MACHINE: Machine;

    /// Bytes of a word: of a return address, or a register, on the stack. 4 or 8.
    const WORD: u64;

    /// A canonical frame address is a multiple of this many bytes.
    const CFA_ALIGNMENT: u64;

    /// Whether a frame record (saved frame pointer and return address) ends where the caller's stack begins. It does on
    /// x86-64, where `call` and `push` make it; on AArch64 it lies anywhere in the frame.
    const RECORD_IS_TOP_OF_FRAME: bool;

    /// Whether callers' further registers are followed, as rows say where they are ([`RowSource::restored`](crate::RowSource)). Where
    /// not, a walk has no code for it.
    const FOLLOWS_ALL: bool = false;

    /// The DWARF number of the stack pointer.
    const STACK_POINTER: u32;

    /// The DWARF number by which [`Unwinder::trap_registers`](crate::Unwinder::trap_registers) name the interrupted program counter.
    const PROGRAM_COUNTER: u32;

    /// The program counter, an address.
    fn pc(&self) -> u64;

    /// The stack pointer, an address.
    fn sp(&self) -> u64;

    /// The frame pointer: an address, or whatever a function without one keeps there.
    fn fp(&self) -> u64;

    /// The value of another register by its DWARF number, as far as it is known.
    fn other(&self, register: u32) -> Option<u64>;

    /// The link register, where the architecture has one and its value is known.
    fn link(&self) -> Option<u64>;

    /// The caller's stack pointer when the canonical frame address is `cfa`.
    fn sp_at(cfa: u64) -> u64;

    /// A return address without its pointer authentication code.
    fn strip(&self, address: u64) -> u64;

    /// Sets the value of another register, by its DWARF number, as trap code saved it; ignores registers that no rule uses.
    fn learn(&mut self, register: u32, value: u64);

    /// Makes the value of another register unknown, by its DWARF number, where further registers are followed.
    fn forget(&mut self, register: u32) {
        let _ = register;
    }

    /// Whether user code runs with them, without the kernel's privileges: as the state says that a trap has saved.
    fn is_user(&self) -> bool;

    /// The caller's registers: these three, and whether it is user code; the others are unknown.
    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self;
}

/// The value of a rule's base, except the CFA.
pub(crate) fn base_value<R: RegisterSet>(registers: &R, base: Base) -> Option<u64> {
    match base {
        Base::StackPointer => Some(registers.sp()),
        Base::FramePointer => Some(registers.fp()),
        Base::Register(number) => registers.other(number),
        Base::Cfa => None,
    }
}

/// The canonical frame address of a function that is called with this stack pointer. All of the stack up to it belongs to that
/// function and its callees: on s390x the area that a caller leaves to its callee, too.
pub(crate) fn cfa_at<R: RegisterSet>(sp: u64) -> u64 {
    sp.wrapping_sub(R::sp_at(0))
}

/// `address + offset`, modulo the size of the architecture's words.
pub(crate) const fn offset_address<R: RegisterSet>(address: u64, offset: i64) -> u64 {
    let sum = address.wrapping_add_signed(offset);
    if R::WORD == 4 { sum & 0xffff_ffff } else { sum }
}

/// What the processor itself pushes at an exception, in bytes from the program counter on.
#[derive(Clone, Copy, Debug)]
pub struct Pushed {
    /// Where the stack pointer is.
    pub(crate) stack_pointer: i64,
    /// The DWARF number of the register that tells user code, and where it is.
    pub(crate) state: (u32, u64),
    /// Where that ends.
    pub(crate) end: u64,
}

/// The number of words that the processor pushes at an exception.
pub(crate) const PUSHED_WORDS: usize = 5;

pub(crate) mod sealed {
    pub trait Sealed: crate::code::Instructions {
        /// What the processor itself pushes, where it does.
        const PUSHED: Option<super::Pushed> = None;

        /// Whether the processor can have pushed these words, the first of which is at address `at`: the program counter, and what
        /// follows it.
        #[must_use]
        fn is_pushed(_at: u64, _words: [u64; super::PUSHED_WORDS]) -> bool {
            false
        }

        /// Sets the three registers that every frame has, and leaves the others.
        fn set(&mut self, pc: u64, sp: u64, fp: u64);
    }
}
