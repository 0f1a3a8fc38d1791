//! What a register or a word of the stack holds, in terms of the caller.

use crate::instruction::Register;

/// A value that a state knows.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// Not known, and why.
    Unknown(Cause),
    /// The canonical frame address (CFA) plus a number of bytes: the caller's stack pointer before the call.
    Cfa(i32),
    /// The CFA plus a number of bytes, plus the value of a register at the entry.
    CfaAnd(i32, Register),
    /// What a register held when the function was entered; see [`RETURN`].
    Entry(Register),
    /// A constant.
    Number(i32),
    /// The address of an instruction, by its number.
    Code(u32),
}

/// The number that stands for the return address in [`Value::Entry`].
pub const RETURN: Register = u8::MAX;
/// The number that stands for the return address with its pointer authentication code in [`Value::Entry`].
pub const SIGNED_RETURN: Register = u8::MAX - 1;

impl Value {
    /// Whether the value is known.
    #[must_use]
    pub const fn is_known(self) -> bool {
        !matches!(self, Self::Unknown(_))
    }

    /// Returns the sum or the difference of two values, if it is a stack address, such an address plus a register at the entry, or this register. Code
    /// that checks the stack pointer without a free register adds a register to it, and computes both from the sum.
    #[must_use]
    pub fn with(self, other: Self, subtracts: bool) -> Option<Self> {
        match (self, other) {
            (Self::Cfa(offset), Self::Entry(register @ 0..64)) if !subtracts => {
                Some(Self::CfaAnd(offset, register))
            }
            (Self::CfaAnd(offset, register), Self::Entry(other))
                if subtracts && register == other =>
            {
                Some(Self::Cfa(offset))
            }
            (Self::CfaAnd(offset, register), Self::Cfa(other)) if subtracts && offset == other => {
                Some(Self::Entry(register))
            }
            _ => None,
        }
    }

    /// The value plus a number of bytes.
    #[must_use]
    pub fn plus(self, bytes: i32, cause: Cause) -> Self {
        let lost = Self::Unknown(cause);
        match self {
            _ if bytes == 0 => self,
            Self::Cfa(offset) => offset.checked_add(bytes).map_or(lost, Self::Cfa),
            Self::CfaAnd(offset, register) => offset
                .checked_add(bytes)
                .map_or(lost, |offset| Self::CfaAnd(offset, register)),
            Self::Number(number) => number.checked_add(bytes).map_or(lost, Self::Number),
            Self::Unknown(before) => Self::Unknown(before),
            // Neither that of the caller nor one that was loaded.
            Self::Entry(RETURN) => Self::Unknown(Cause::new(Why::Moved, cause.instruction())),
            Self::Entry(_) | Self::Code(_) => lost,
        }
    }
}

/// Values that are not known are equal, whatever the cause.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unknown(_), Self::Unknown(_)) => true,
            (Self::Cfa(one), Self::Cfa(two)) | (Self::Number(one), Self::Number(two)) => one == two,
            (Self::CfaAnd(one, register), Self::CfaAnd(two, other)) => {
                (one, register) == (two, other)
            }
            (Self::Entry(one), Self::Entry(two)) => one == two,
            (Self::Code(one), Self::Code(two)) => one == two,
            _ => false,
        }
    }
}

impl Eq for Value {}

/// Why a value is not known: a reason, and the number of the instruction that it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cause(u32);

/// Reasons for which a value is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Why {
    /// The place is entered in a way that says nothing of it.
    Entered,
    /// Ways that differ meet.
    Ways,
    /// An instruction has written something else.
    Written,
    /// The stack pointer was moved by an unknown number, or the return address by any number, or the instruction is not listed.
    Moved,
    /// A store may have hit the word.
    Stored,
    /// Nothing known was stored to the word.
    NothingStored,
    /// It was loaded from the stack, but it is not known from where.
    NotFollowed,
    /// A callee may overwrite the register.
    CalleeMay,
    /// A callee does not keep it.
    CalleeDoes,
    /// Unreachable code.
    NoWay,
    /// Its address is taken, and it is no function that is declared.
    Taken,
    /// A jump that is not followed may lead there.
    AnyJump,
    /// It is not called, and its first row is not that of a call.
    DeclaredOtherwise,
    /// It leads to a trap return, and is not called.
    LeadsToTrapReturn,
    /// Its rows are those of trap code that never returns: the processor enters it, or nobody does.
    NotEntered,
}

impl Why {
    /// Whether the value may still be right at an exit. An entry or a jump is not followed, but no instruction has lost the value.
    #[must_use]
    pub const fn may_be_right(self) -> bool {
        match self {
            Self::NotFollowed
            | Self::NoWay
            | Self::Taken
            | Self::AnyJump
            | Self::DeclaredOtherwise
            | Self::LeadsToTrapReturn
            | Self::NotEntered => true,
            Self::Entered
            | Self::Ways
            | Self::Written
            | Self::Moved
            | Self::Stored
            | Self::NothingStored
            | Self::CalleeMay
            | Self::CalleeDoes => false,
        }
    }

    /// Whether an instruction has loaded the stack pointer, if this is the reason that it is unknown. Task switches and long jumps load it.
    #[must_use]
    pub const fn is_load(self) -> bool {
        matches!(
            self,
            Self::Written | Self::NothingStored | Self::CalleeMay | Self::Entered
        )
    }

    /// The reason in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Entered => "the register value at the function entry is unknown",
            Self::Ways => "code paths with different values for the unwind row join",
            Self::Written => "an instruction overwrites a value that the unwind row needs",
            Self::Moved => {
                "the code moves the stack pointer by an unknown amount or changes the return address"
            }
            Self::Stored => {
                "a store instruction may overwrite a saved value that the unwind row needs"
            }
            Self::NothingStored => {
                "a value that the unwind row needs is loaded from memory with unknown content"
            }
            Self::NotFollowed => {
                "a value that the unwind row needs is loaded from an unknown stack address"
            }
            Self::CalleeMay => "a called function may overwrite a value that the unwind row needs",
            Self::CalleeDoes => {
                "a called function does not preserve a value that the unwind row needs"
            }
            Self::NoWay => "the code is unreachable",
            Self::Taken => {
                "the program uses the address of the code as a value, but declares no function at this address"
            }
            Self::AnyJump => "a jump with unknown targets may reach the code",
            Self::DeclaredOtherwise => {
                "the function is never called, and its first unwind row does not describe the state after a call"
            }
            Self::NotEntered => {
                "the code contains no evidence that the CPU enters the function as a trap handler"
            }
            Self::LeadsToTrapReturn => {
                "the code is never called, but leads to an instruction that returns from a trap"
            }
        }
    }
}

const WHYS: [Why; 15] = [
    Why::Entered,
    Why::Ways,
    Why::Written,
    Why::Moved,
    Why::Stored,
    Why::NothingStored,
    Why::NotFollowed,
    Why::CalleeMay,
    Why::CalleeDoes,
    Why::NoWay,
    Why::Taken,
    Why::AnyJump,
    Why::DeclaredOtherwise,
    Why::LeadsToTrapReturn,
    Why::NotEntered,
];

impl Cause {
    /// A reason at an instruction.
    #[must_use]
    pub const fn new(why: Why, instruction: u32) -> Self {
        Self(instruction << 4 | why as u32)
    }

    /// The reason.
    #[must_use]
    pub fn why(self) -> Why {
        WHYS.get((self.0 & 15) as usize)
            .copied()
            .unwrap_or(Why::Entered)
    }

    /// The instruction's number.
    #[must_use]
    pub const fn instruction(self) -> u32 {
        self.0 >> 4
    }
}

impl std::fmt::Debug for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {}", self.why(), self.instruction())
    }
}
