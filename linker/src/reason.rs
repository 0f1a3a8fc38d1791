//! Why nothing is said about an instruction.

use std::fmt;

/// Why nothing is said about an instruction. The addresses are those of the instructions that are the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// No way leads there that was followed.
    Unreached,
    /// The stack pointer comes from a register or from memory.
    StackPointer(u64),
    /// Two ways meet with stacks of different depth.
    Depths(u64),
    /// An indirect jump whose targets are not known.
    IndirectJump(u64),
    /// Only a call leads there that never returns.
    AfterCall(u64),
    /// A way out finds the stack another than it was at the entry.
    Unbalanced(u64),
    /// Bytes that are no instruction.
    NotCode(u64),
    /// It is entered by jumps from elsewhere too, with another stack.
    Entered,
    /// Call frame information says that no rule leads to the caller.
    NoRule,
    /// Where the return address is kept is not known.
    ReturnAddress,
    /// Where the caller's frame pointer is kept is not known.
    FramePointer,
    /// Nobody calls it, and it never returns: it may be entered in any way.
    NotCalled,
    /// More work than a function is worth.
    TooMuch,
}

impl Reason {
    /// The words, without the address.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unreached => "no way leads there",
            Self::StackPointer(_) => "stack pointer from a register or from memory",
            Self::Depths(_) => "ways meet with stacks of different depth",
            Self::IndirectJump(_) => "indirect jump without a known table",
            Self::AfterCall(_) => "after a call that never returns",
            Self::Unbalanced(_) => "a way out with another stack than at the entry",
            Self::NotCode(_) => "bytes that are no instruction",
            Self::Entered => "entered by jumps with another stack",
            Self::NoRule => "call frame information has no rule for it",
            Self::ReturnAddress => "return address not followed",
            Self::FramePointer => "frame pointer not followed",
            Self::NotCalled => "nobody calls it and it never returns",
            Self::TooMuch => "too large to be followed",
        }
    }

    /// The instruction that is the reason.
    #[must_use]
    pub const fn address(self) -> Option<u64> {
        match self {
            Self::StackPointer(at)
            | Self::Depths(at)
            | Self::IndirectJump(at)
            | Self::AfterCall(at)
            | Self::Unbalanced(at)
            | Self::NotCode(at) => Some(at),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())?;
        match self.address() {
            Some(address) => write!(f, ", at {address:#x}"),
            None => Ok(()),
        }
    }
}
