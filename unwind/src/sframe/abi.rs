//! The ABIs for which SFrame is defined.

use crate::bytes::ByteOrder;
use crate::registers::Machine;
use crate::row::Base;
use crate::{aarch64, s390x, x86_64};

/// `sfh_abi_arch`, byte 4 of the header: architecture and byte order.
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
    /// The ABI of a header byte; `None` for a number that no version of the specification names.
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

    /// The byte order of memory under this ABI.
    #[must_use]
    pub const fn byte_order(self) -> ByteOrder {
        match self {
            Self::AArch64Big | Self::S390x => ByteOrder::Big,
            Self::AArch64Little | Self::Amd64 => ByteOrder::Little,
        }
    }

    /// The architecture.
    pub(crate) const fn machine(self) -> Machine {
        match self {
            Self::AArch64Big | Self::AArch64Little => Machine::AArch64,
            Self::Amd64 => Machine::X86_64,
            Self::S390x => Machine::S390x,
        }
    }

    /// The DWARF number of the stack pointer.
    #[must_use]
    pub const fn stack_pointer(self) -> u32 {
        match self {
            Self::AArch64Big | Self::AArch64Little => aarch64::SP,
            Self::Amd64 => x86_64::RSP,
            Self::S390x => s390x::R15,
        }
    }

    /// The DWARF number of the frame pointer.
    #[must_use]
    pub const fn frame_pointer(self) -> u32 {
        match self {
            Self::AArch64Big | Self::AArch64Little => aarch64::FP,
            Self::Amd64 => x86_64::RBP,
            Self::S390x => s390x::R11,
        }
    }

    /// What a DWARF register number stands for in a rule.
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
