//! How a frame was found, why a walk ended, and what that says of the list.

mod words;

use core::fmt;

use crate::lookup::LookupError;
use crate::sframe::{Abi, Damage, ParseError};

/// Why there is no further frame. Only [`Self::Complete`] vouches for the whole list.
///
/// The discriminant has a whole word. By default it has one byte, with small payloads right after it; then copies go byte by
/// byte, and a walk's code is 4 % larger on AArch64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[repr(u64)]
pub enum End {
    /// The outermost function was reached, its frame lies at the base of its stack, every step was by a proven row of a table that is
    /// not known to be damaged, and a call led from each caller to its callee.
    Complete,
    /// The outermost function was reached. Either a step was not by a proven row and by a call, or the table is damaged, or nobody
    /// knows where the function's stack begins: [`Frames::doubt`](crate::Frames::doubt) says which.
    Outermost,
    /// The outermost function was reached with its stack pointer at this address, where no declared stack begins. On s390x its
    /// stack is the 160 bytes larger that the ABI has every caller keep for its callee: see [`s390x`](crate::s390x).
    NotAtBase(u64),
    /// The outermost function was reached with its stack pointer at this address, and nobody has said where its stack begins.
    /// Only in a [`Doubt`](crate::Doubt) about the outermost function's frame, of a walk over [`Undeclared`](crate::Undeclared);
    /// or with the address where the trap frame of user code ends.
    BaseUnknown(u64),
    /// User code was reached, which was interrupted at this address, or has called the kernel there: so says the state that trap
    /// code has saved. Without a doubt, the list is complete for the kernel: every step up to there was by table and by a call,
    /// and the kernel's stack was empty when it was entered. The user code is the last frame. See
    /// [`Unwinder::user_code`](crate::Unwinder::user_code).
    User(u64),
    /// A trap frame of user code ends at this address, where no declared stack begins, so that there may be frames of the kernel
    /// above it. Only in a [`Doubt`](crate::Doubt).
    TrapNotAtBase(u64),
    /// A trap frame of user code does not tell where it ends, so that there may be frames of the kernel above it. Only in a
    /// [`Doubt`](crate::Doubt).
    TrapEndUnknown,
    /// A trap frame says that user code was interrupted, but at this address, which is in the kernel's code. Only in a
    /// [`Doubt`](crate::Doubt).
    UserInKernel(u64),
    /// There are no tables that can be used.
    NoTables(ParseError),
    /// A source of rows other than SFrame's cannot be used, for this reason; or, in a [`Doubt`](crate::Doubt), its rows are damaged.
    Unusable(&'static str),
    /// The table has no usable row for the frame with this address.
    NoRow(u64, LookupError),
    /// The table is for another architecture than the registers.
    WrongAbi(Abi),
    /// The program counter, this address, is not in any code.
    BadPc(u64),
    /// The return address found, this one, is not in any code.
    BadReturnAddress(u64),
    /// There is no call before the return address found, this one.
    NoCall(u64),
    /// The call before the return address that is the first of these leads to the second, and from there no jump leads to the
    /// function of the frame that it was found for. Only in a [`Doubt`](crate::Doubt).
    CalledElsewhere(u64, u64),
    /// Return addresses were not checked for a call before them, because the bytes of code are not known
    /// ([`Unwinder::code`](crate::Unwinder::code)). Only in a [`Doubt`](crate::Doubt).
    CallsUnchecked,
    /// The row of the frame with this number, counted from 0, is unproven: [`Proof::Unproven`](crate::Proof). Only in a
    /// [`Doubt`](crate::Doubt).
    UnprovenRow(u32),
    /// The tables contain no proof of their rows: [`Proof::Unknown`](crate::Proof). Only in a [`Doubt`](crate::Doubt).
    UnprovenTables,
    /// The walk began with registers that another walk has found, which is in doubt: [`Frames::continues`](crate::Frames::continues).
    /// Only in a [`Doubt`](crate::Doubt).
    StartInDoubt,
    /// The walk began with the saved registers of a task that may have run meanwhile. Only in a [`Doubt`](crate::Doubt):
    /// [`Doubt::may_have_run`].
    MayHaveRun,
    /// The row for this address holds where its function calls another, and the function was interrupted. Only in a
    /// [`Doubt`](crate::Doubt): see [`ehabi`](crate::ehabi).
    OnlyAtCalls(u64),
    /// The stack pointer, this address, is in none of the declared stacks that the walk may still enter.
    NoStack(u64),
    /// The word at this address lies in no declared stack, or could not be read.
    Unreadable(u64),
    /// The word at this address is not aligned, and no word is read so: see [`Memory`](crate::Memory).
    UnalignedWord(u64),
    /// The caller's frame would not lie above this one: its stack pointer would be this address.
    NotAdvancing(u64),
    /// The canonical frame address, this one, is not aligned as the ABI asks.
    Misaligned(u64),
    /// A rule needs the register with this DWARF number, whose value is no longer known.
    RegisterLost(u32),
    /// A rule needs the stack pointer, which a step by frame pointer left unknown.
    StackPointerLost,
    /// A rule needs the frame pointer, which a callee has overwritten without saving it.
    FramePointerLost,
    /// A rule is based on the canonical frame address, which is not known.
    NoCfa,
    /// The return address is in the link register, whose value is no longer known.
    LinkRegisterLost,
    /// A trap or signal frame that the table does not describe, with its stack pointer at this address. A caller that knows its
    /// layout can go on by [`Frames::resume_at`](crate::Frames::resume_at).
    TrapFrame(u64),
    /// As many frames as were asked for.
    Limit,
    /// The tables were verified and are damaged. No walk ends with this; it is the reason of a
    /// [`Doubt`](crate::Doubt).
    DamagedTables(Damage),
    /// The stack with this stack pointer was left by a row, although there is memory above it, where callers may have frames. Code that
    /// goes to another stack begins at the end of an empty one. Only in a [`Doubt`](crate::Doubt).
    LeftStack(u64),
    /// The code in memory from this address on is not the code that was linked, so that the rows for it may be wrong. Only in a
    /// [`Doubt`](crate::Doubt).
    CodeChanged(u64),
}

/// How a frame was found, from the most to the least trustworthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum How {
    /// The walk was started with it.
    Given,
    /// By a row of the table.
    SFrame,
    /// From the registers that a trap saved.
    TrapFrame,
    /// The callee has no row: by what its code does to the stack pointer and saves there. Of a
    /// [`CodeReader`](crate::CodeReader) only.
    Analysis,
    /// The callee has no usable row: by the frame record at the frame pointer.
    FramePointer,
    /// The callee has no usable row, or is no code at all: by the link register or, on x86-64, the return address
    /// that a call has just pushed.
    LinkRegister,
    /// A word of the stack that could be a return address, perhaps of a call that has returned already.
    Scan,
}

/// Where the first frame came from that was not found by table, or not by a call that leads to its callee; or, where
/// [`How::SFrame`] is how, that a damaged table is walked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Doubt {
    /// The frame's number, from 0.
    pub frame: u32,
    /// How it was found.
    pub how: How,
    /// Why it was not found by table; or, if it was, what is in doubt.
    pub reason: End,
}

impl Doubt {
    /// The doubt about a whole list of a task that may have run during the walk, so that its stack may have changed.
    #[must_use]
    pub const fn may_have_run() -> Self {
        Self {
            frame: 0,
            how: How::Given,
            reason: End::MayHaveRun,
        }
    }
}

/// Whether a walk is in doubt, for the walk that [continues](crate::Frames::continues) it: [`Frames::inherited`](crate::Frames::inherited).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct InheritedDoubt(pub(crate) bool);

impl End {
    /// The reason of the doubt in each walk by damaged tables, or by tables for other code than is in memory.
    pub(crate) const fn of_damage(damage: Damage) -> Self {
        match damage {
            Damage::Code { start } => Self::CodeChanged(start),
            damage => Self::DamagedTables(damage),
        }
    }

    /// Whether every caller is in the list, by table.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self, Self::Complete)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl core::error::Error for End {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::NoTables(error) => Some(error),
            Self::NoRow(_, error) => Some(error),
            Self::DamagedTables(damage) => Some(damage),
            _ => None,
        }
    }
}
