//! The reasons why an entry cannot be used.

use core::fmt;

use crate::lookup::LookupError;
use crate::text::texts;

/// The reason why an entry of the exception tables cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// Bit 31 of the index entry's first word is set. It must be 0.
    StartHasBit31,
    /// The function is not above the function of the previous entry.
    NotSorted,
    /// The index refers to this address, but `.ARM.extab` does not contain a whole entry there.
    OutsideTable(u64),
    /// The highest byte of an entry in the compact form is reserved: its four highest bits are not 1000, or its personality routine is not 0, 1
    /// or 2 (in the index: not 0). The number is the byte without its highest bit.
    Reserved(u8),
    /// The entry has the form of the personality routine at this address, which is not declared: see
    /// [`Tables::personalities`](super::Tables::personalities).
    UnknownPersonality(u64),
    /// The opcodes end inside an opcode with this first byte.
    Truncated(u8),
    /// These two bytes are an opcode that the ABI reserves or does not define. The second byte is 0 if the first one is enough.
    Spare(u8, u8),
    /// A number does not fit into 32 bits.
    TooLarge,
    /// The entry is "cannot unwind".
    CannotUnwind,
    /// The opcodes refuse to unwind.
    Refused,
    /// Opcodes follow that need the stack pointer after it was restored from the stack. No compiler writes this, and no row can express it.
    AfterStackPointer,
}

impl Error {
    /// Returns the error of a look-up.
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
            Self::StartHasBit31 => "bit 31 of the function offset in .ARM.exidx is set, but must be 0",
            Self::NotSorted => "the entries in .ARM.exidx are not sorted by function address",
            Self::OutsideTable(_) => "the unwind table entry refers to address $, which is outside .ARM.extab",
            Self::Reserved(_) => "the unwind table entry names personality routine #, which does not exist",
            Self::UnknownPersonality(_) => "the personality routine at address $, which the unwind table entry uses, is unknown",
            Self::Truncated(_) => "the unwind opcodes end before opcode % is complete",
            Self::Spare(..) => "the unwind opcode with the bytes % and % is undefined",
            Self::TooLarge => "a number in the unwind opcodes exceeds 32 bits",
            Self::CannotUnwind => "the .ARM.exidx entry states that the function cannot be unwound",
            Self::Refused => "the unwind opcodes forbid unwinding through the function",
            Self::AfterStackPointer => "unsupported unwind opcodes: the stack pointer is used after it is restored from the stack",
        };
        filled.write(f)
    }
}

impl core::error::Error for Error {}
