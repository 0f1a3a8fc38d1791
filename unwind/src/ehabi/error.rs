//! What can be wrong with an entry.

use core::fmt;

use crate::lookup::LookupError;
use crate::text::texts;

/// Why an entry of the exception tables cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The index entry's first word has bit 31 set, which is 0 in every index.
    StartHasBit31,
    /// The entry's function does not lie above that of the entry before.
    NotSorted,
    /// The index leads to this address, where `.ARM.extab` has no whole entry.
    OutsideTable(u64),
    /// An entry in the compact form has bits other than 1000 at its top, or names this personality routine, and there are only
    /// 0, 1 and 2. In the index itself it can only be 0.
    Reserved(u8),
    /// The entry is in the form of this personality routine, an address that is not among those declared
    /// ([`Tables::personalities`](super::Tables::personalities)).
    UnknownPersonality(u64),
    /// The opcodes end inside this one.
    Truncated(u8),
    /// These two bytes are an opcode that the ABI reserves, or leaves without a meaning. The second one is 0 where one byte tells.
    Spare(u8, u8),
    /// A number does not fit into 32 bits.
    TooLarge,
    /// The entry says that its function cannot be unwound.
    CannotUnwind,
    /// The opcodes refuse to unwind.
    Refused,
    /// Opcodes count on from a stack pointer that was itself restored from the stack. No compiler writes such, and no row says it.
    AfterStackPointer,
}

impl Error {
    /// The same, as the result of a look-up.
    pub(crate) const fn of_look_up(self) -> LookupError {
        match self {
            Self::CannotUnwind | Self::Refused => LookupError::NoRows { signal: false },
            Self::UnknownPersonality(_) | Self::Spare(..) | Self::AfterStackPointer => {
                LookupError::Unsupported
            }
            _ => LookupError::Damaged,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = match *self {
            Self::OutsideTable(address) | Self::UnknownPersonality(address) => [address, 0],
            Self::Reserved(byte) | Self::Truncated(byte) => [byte.into(), 0],
            Self::Spare(first, second) => [first.into(), second.into()],
            _ => [0; 2],
        };
        let filled = texts! { *self, numbers;
            Self::StartHasBit31 => "bit 31 of the function's word is set",
            Self::NotSorted => "the function is not above the one before",
            Self::OutsideTable(_) => "$ is outside of .ARM.extab",
            Self::Reserved(_) => "there is no personality routine #",
            Self::UnknownPersonality(_) => "the personality routine at $ is not known",
            Self::Truncated(_) => "the opcodes end inside %",
            Self::Spare(..) => "no meaning is defined for % %",
            Self::TooLarge => "a number does not fit into 32 bits",
            Self::CannotUnwind => "the function cannot be unwound",
            Self::Refused => "it refuses to unwind",
            Self::AfterStackPointer => "it adds to a stack pointer that was restored",
        };
        filled.write(f)
    }
}

impl core::error::Error for Error {}
