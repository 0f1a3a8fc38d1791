//! How a frame was found, why a walk ended, and whether the list is complete.

mod words;

use core::fmt;

use crate::lookup::LookupError;
use crate::sframe::{Abi, Damage, ParseError};

/// The reason why a walk ended, or the reason of a [`Doubt`].
///
/// Only [`Self::Complete`] means that the list contains every caller. The number in a variant is an address unless the variant's text
/// states something else. The text of `Display` is the text in reports.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{End, Stacks, Unwinder, sframe::{LookupError, Tables}, x86_64::Registers};
///
/// // A walk that starts outside the code.
/// let unwinder = Unwinder::new(Tables::new(&TABLE, 0x2000));
/// let mut frames = unwinder.frames(Registers::new(0xbad, 0x8008, 0), Stacks::new(&[STACK], |_| None));
/// assert_eq!(frames.by_ref().count(), 1);
/// let end = frames.end().expect("the walk has ended");
/// assert_eq!(end, End::BadPc(0xbad));
/// assert_eq!(end.to_string(), "the program counter 0x0000000000000bad is outside all known code");
/// assert!(!end.is_complete());
/// ```
// The discriminant has a whole word. By default it has one byte, with small payloads right after it; then copies are made byte by byte, and
// the code of a walk is 4 % larger on AArch64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[repr(u64)]
pub enum End {
    /// Complete: the list contains every caller. The walk reached a function without a caller, whose frame is at the base of its stack.
    /// Every step used a proven row of a table that is not known to be damaged, and a call leads from each caller to its callee.
    Complete,
    /// A function without a caller was reached, but the list is in doubt: a step did not use a proven row or does not match a call, the
    /// table is damaged, or the base of the stack is unknown. [`Frames::doubt`](crate::Frames::doubt) contains the reason.
    Outermost,
    /// A function without a caller was reached with this stack pointer, at which no declared stack begins. On s390x, the stack includes
    /// the 160 bytes that the ABI reserves for the callee: see [`s390x`](crate::s390x).
    NotAtBase(u64),
    /// The base of the stack is unknown: a function without a caller was reached with this stack pointer, or the trap frame of user code
    /// ends at this address. Only in a [`Doubt`], of a walk over [`Undeclared`](crate::Undeclared).
    BaseUnknown(u64),
    /// User code was reached: by the processor state that trap code saved, it was interrupted at this address, or called the kernel there.
    ///
    /// Without a doubt, the list is complete for the kernel: every step up to the user code used a proven row and matches a call, and the
    /// kernel's stack was empty when the kernel was entered. The user code is the last frame. See
    /// [`Unwinder::user_code`](crate::Unwinder::user_code).
    User(u64),
    /// A trap frame of user code ends at this address, at which no declared stack begins, so that frames of the kernel may be missing.
    /// Only in a [`Doubt`].
    TrapNotAtBase(u64),
    /// The end of a trap frame of user code is unknown, so that frames of the kernel may be missing. Only in a [`Doubt`].
    TrapEndUnknown,
    /// A trap frame contains the state of user code, but this interrupted address is in the kernel's code. Only in a [`Doubt`].
    UserInKernel(u64),
    /// No SFrame table can be used.
    NoTables(ParseError),
    /// A source of rows other than SFrame tables cannot be used, for this reason. In a [`Doubt`]: its rows are damaged.
    Unusable(&'static str),
    /// No row can be used for the frame with this program counter.
    NoRow(u64, LookupError),
    /// The table is for this ABI, which differs from the architecture of the registers.
    WrongAbi(Abi),
    /// This program counter is not in any code.
    BadPc(u64),
    /// This return address is not in any code.
    BadReturnAddress(u64),
    /// No call precedes this return address.
    NoCall(u64),
    /// The call before a return address (the first number) leads to another function (the second number), from which no jump leads to the
    /// function of the callee's frame. Only in a [`Doubt`].
    CalledElsewhere(u64, u64),
    /// Return addresses were not checked for calls, because the bytes of the code are not known: see
    /// [`Unwinder::code`](crate::Unwinder::code). Only in a [`Doubt`].
    CallsUnchecked,
    /// The row of a frame is unproven: see [`Proof::Unproven`](crate::Proof). The number is the frame's, from 0. Only in a [`Doubt`].
    UnprovenRow(u32),
    /// The tables contain no proof of their rows: see [`Proof::Unknown`](crate::Proof). Only in a [`Doubt`].
    UnprovenTables,
    /// The walk began with registers that an earlier walk found, and the earlier walk is in doubt: see
    /// [`Frames::continues`](crate::Frames::continues). Only in a [`Doubt`].
    StartInDoubt,
    /// The walk began with the saved registers of a task that may have run during the walk: see [`Doubt::may_have_run`]. Only in a
    /// [`Doubt`].
    MayHaveRun,
    /// The row for this program counter is valid only where its function calls another, but the function was interrupted: see
    /// [`ehabi`](crate::ehabi). Only in a [`Doubt`].
    OnlyAtCalls(u64),
    /// This stack pointer is in no declared stack that the walk may still enter.
    NoStack(u64),
    /// The word at this address is outside all declared stacks, or could not be read.
    Unreadable(u64),
    /// The word at this address is not aligned. A walk reads only aligned words: see [`Memory`](crate::Memory).
    UnalignedWord(u64),
    /// The caller's stack pointer would be this address, which is not above the callee's.
    NotAdvancing(u64),
    /// This canonical frame address is not aligned as the ABI requires.
    Misaligned(u64),
    /// A rule needs a register whose value is not known in this frame. The number is the register's DWARF number.
    RegisterLost(u32),
    /// A rule needs the stack pointer, which is unknown after a step with the frame pointer.
    StackPointerLost,
    /// A rule needs the frame pointer, which a callee overwrote without saving it.
    FramePointerLost,
    /// A rule needs the canonical frame address, which is not known.
    NoCfa,
    /// The return address is in the link register, whose value is not known in this frame.
    LinkRegisterLost,
    /// The function is trap or signal code without rows, and its stack pointer is this address. If the layout of the trap frame is known,
    /// [`Frames::resume_at`](crate::Frames::resume_at) continues the walk.
    TrapFrame(u64),
    /// The limit of frames was reached: see [`Unwinder::limit`](crate::Unwinder::limit).
    Limit,
    /// The tables were verified and are damaged. Only in a [`Doubt`]: no walk ends for this reason.
    DamagedTables(Damage),
    /// A step left the stack at this stack pointer, although the stack continues above it, where callers may have frames. Code that
    /// switches stacks starts with an empty stack. Only in a [`Doubt`].
    LeftStack(u64),
    /// The code in memory at this address differs from the code that was linked, so that its rows may be wrong. Only in a [`Doubt`].
    CodeChanged(u64),
}

/// The method that found a frame, from the most to the least trustworthy.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Code, How, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// // Only the entry function has a row. The frame pointer of the function at 0x1010 leads to its caller.
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(Tables::new(&ENTRY_TABLE, 0x2000)).code(&code);
/// let frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0x8000), Stacks::new(&[STACK], read));
/// let found: Vec<How> = frames.map(|frame| frame.how).collect();
/// assert_eq!(found, [How::Given, How::FramePointer]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum How {
    /// The start of the walk: the caller passed the registers.
    Given,
    /// A row of a table, of any format.
    SFrame,
    /// The registers that trap code saved.
    TrapFrame,
    /// The code of the callee, which has no row: how it changes the stack pointer, and where it saves registers. Only with a
    /// [`CodeReader`](crate::CodeReader).
    Analysis,
    /// The frame record at the frame pointer, because the callee has no usable row.
    FramePointer,
    /// The link register or, on x86-64, the word on top of the stack, because the callee has no usable row, or because the program counter is not
    /// in code.
    LinkRegister,
    /// A scan of the stack: a word that could be a return address, perhaps of a call that has returned.
    Scan,
}

/// The first reason why a list may be wrong: from which frame on, how that frame was found, and why it is in doubt.
/// [`Frames::doubt`](crate::Frames::doubt) returns it.
///
/// A frame is in doubt if it was not found with a proven row, or if the call before its return address does not lead to its callee. If the
/// tables are damaged, the doubt is about frame 0.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Code, How, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
///
/// let code = [Code::new(&CODE, 0x1000)];
/// let unwinder = Unwinder::new(Tables::new(&ENTRY_TABLE, 0x2000)).code(&code);
/// let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0x8000), Stacks::new(&[STACK], read));
/// assert_eq!(frames.by_ref().count(), 2);
/// let doubt = frames.doubt().expect("frame 1 was found with the frame pointer");
/// assert_eq!((doubt.frame, doubt.how), (1, How::FramePointer));
/// assert_eq!(doubt.reason.to_string(), "no unwind row for address 0x0000000000001018: no function in the unwind table contains the address");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Doubt {
    /// The number of the first frame in doubt, from 0.
    pub frame: u32,
    /// The method that found the frame.
    pub how: How,
    /// The reason of the doubt. If a fallback found the frame: why no row could be used.
    pub reason: End,
}

impl Doubt {
    /// Returns the doubt about the whole list of a task that may have run during the walk, so that its stack may have changed.
    ///
    /// ```
    /// use unwind::{Doubt, End};
    ///
    /// let doubt = Doubt::may_have_run();
    /// assert_eq!((doubt.frame, doubt.reason), (0, End::MayHaveRun));
    /// ```
    #[must_use]
    pub const fn may_have_run() -> Self {
        Self {
            frame: 0,
            how: How::Given,
            reason: End::MayHaveRun,
        }
    }
}

/// A flag that a walk is in doubt, for the walk that [continues](crate::Frames::continues) it.
/// [`Frames::inherited`](crate::Frames::inherited) returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct InheritedDoubt(pub(crate) bool);

impl End {
    /// Returns the reason of the doubt in each walk that uses damaged tables, or tables for other code than is in memory.
    pub(crate) const fn of_damage(damage: Damage) -> Self {
        match damage {
            Damage::Code { start } => Self::CodeChanged(start),
            damage => Self::DamagedTables(damage),
        }
    }

    /// Checks whether this is [`Self::Complete`]: every caller is in the list.
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
