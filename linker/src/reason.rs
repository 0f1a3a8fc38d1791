//! Reasons why no row could be proven for an instruction.

use std::fmt;

/// Why no row could be proven for an instruction. Addresses are those of the instructions that cause it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// No path from an entry leads there.
    Unreached,
    /// The stack pointer was loaded from a register or from memory.
    StackPointer(u64),
    /// Two paths meet with stacks of different depth.
    Depths(u64),
    /// An indirect jump whose targets are not known.
    IndirectJump(u64),
    /// It is only reachable by the return of a call that never returns.
    AfterCall,
    /// A return finds the stack at another depth than at the entry.
    Unbalanced(u64),
    /// Bytes that are no instruction.
    NotCode(u64),
    /// Other code jumps into it with another stack.
    Entered,
    /// Call frame information has a function there without rows.
    NoRule,
    /// It is not known where the return address is saved.
    ReturnAddress,
    /// It is not known where the caller's frame pointer is saved.
    FramePointer,
    /// Nobody calls it, and it never returns: the stack at its entry is not known.
    NotCalled,
    /// The fixed point was not reached within the limit of steps.
    TooMuch,
}

impl Reason {
    /// The reason in words, without the address.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unreached => "unreachable code",
            Self::StackPointer(_) => "the stack pointer is loaded from a register or from memory",
            Self::Depths(_) => "code paths with different stack depths join",
            Self::IndirectJump(_) => "the code contains an indirect jump with unknown targets",
            Self::AfterCall => "the code follows a call that never returns",
            Self::Unbalanced(_) => {
                "the stack depth at a function exit differs from the depth at the function entry"
            }
            Self::NotCode(_) => "the code contains bytes that are not a valid instruction",
            Self::Entered => "jumps reach the code with different stack depths",
            Self::NoRule => "call frame information has no unwind rows for the function",
            Self::ReturnAddress => "the location of the return address is unknown",
            Self::FramePointer => "the location of the caller's frame pointer is unknown",
            Self::NotCalled => {
                "no call of the function was found, and no path through the function returns"
            }
            Self::TooMuch => "analysis limit reached",
        }
    }

    /// The address of the instruction that causes it.
    #[must_use]
    pub const fn address(self) -> Option<u64> {
        match self {
            Self::StackPointer(at)
            | Self::Depths(at)
            | Self::IndirectJump(at)
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
