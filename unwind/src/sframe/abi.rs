//! The ABIs for which SFrame is defined.

use crate::bytes::ByteOrder;
use crate::registers::Machine;
use crate::row::Base;
use crate::{aarch64, s390x, x86_64};

/// An ABI: architecture and byte order. In the SFrame header: byte 4, `sfh_abi_arch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Abi {
    /// AArch64, big-endian.
    AArch64Big = 1,
    /// AArch64, little-endian.
    AArch64Little = 2,
    /// x86-64, little-endian, LP64.
    Amd64 = 3,
    /// s390x, big-endian.
    S390x = 4,
}

impl Abi {
    /// Returns the ABI with this number in a header; `None` if no version of the specification contains the number.
    #[must_use]
    pub const fn from_header(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::AArch64Big),
            2 => Some(Self::AArch64Little),
            3 => Some(Self::Amd64),
            4 => Some(Self::S390x),
            _ => None,
        }
    }

    /// Returns the byte order of memory.
    #[must_use]
    pub const fn byte_order(self) -> ByteOrder {
        match self {
            Self::AArch64Big | Self::S390x => ByteOrder::Big,
            Self::AArch64Little | Self::Amd64 => ByteOrder::Little,
        }
    }

    /// Returns the architecture.
    pub(crate) const fn machine(self) -> Machine {
        match self {
            Self::AArch64Big | Self::AArch64Little => Machine::AArch64,
            Self::Amd64 => Machine::X86_64,
            Self::S390x => Machine::S390x,
        }
    }

    /// Returns the DWARF number of the stack pointer.
    #[must_use]
    pub const fn stack_pointer(self) -> u32 {
        match self {
            Self::AArch64Big | Self::AArch64Little => aarch64::SP,
            Self::Amd64 => x86_64::RSP,
            Self::S390x => s390x::R15,
        }
    }

    /// Returns the DWARF number of the frame pointer.
    #[must_use]
    pub const fn frame_pointer(self) -> u32 {
        match self {
            Self::AArch64Big | Self::AArch64Little => aarch64::FP,
            Self::Amd64 => x86_64::RBP,
            Self::S390x => s390x::R11,
        }
    }

    /// Returns the base of a rule that contains this DWARF number.
    pub(crate) const fn base(self, register: u32) -> Base {
        if register == self.stack_pointer() {
            Base::StackPointer
        } else if register == self.frame_pointer() {
            Base::FramePointer
        } else {
            Base::Register(register)
        }
    }
}
