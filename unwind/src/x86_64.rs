//! x86-64: the registers of a walk. ABI: "System V Application Binary Interface, AMD64 Architecture Processor
//! Supplement", DWARF numbers in its figure 3.36.

use crate::registers::{self, sealed::Sealed};
use crate::sframe::Abi;

/// The registers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Registers {
    /// `rip`, an address.
    pub pc: u64,
    /// `rsp`, an address.
    pub sp: u64,
    /// `rbp`.
    pub fp: u64,
    /// `r10`: the frame's base in prologues that realign the stack. Known in interrupted frames at most.
    pub r10: Option<u64>,
    /// `r11`: the return address in some hand-written thunks. Known in interrupted frames at most.
    pub r11: Option<u64>,
}

impl Registers {
    /// The registers that every frame needs; `r10` and `r11` unknown.
    #[must_use]
    pub const fn new(pc: u64, sp: u64, fp: u64) -> Self {
        Self {
            pc,
            sp,
            fp,
            r10: None,
            r11: None,
        }
    }
}

impl Sealed for Registers {}

impl registers::Registers for Registers {
    const WORD: u64 = 8;
    // The ABI asks for 16 at calls; hand-written assembly and kernels built with 8-byte stacks do not keep to it.
    const CFA_ALIGNMENT: u64 = 8;
    const RECORD_IS_TOP_OF_FRAME: bool = true;

    fn accepts(abi: Abi) -> bool {
        abi == Abi::Amd64
    }

    fn pc(&self) -> u64 {
        self.pc
    }

    fn sp(&self) -> u64 {
        self.sp
    }

    fn fp(&self) -> u64 {
        self.fp
    }

    fn other(&self, register: u32) -> Option<u64> {
        match register {
            10 => self.r10,
            11 => self.r11,
            _ => None,
        }
    }

    fn link(&self) -> Option<u64> {
        None
    }

    fn sp_at(cfa: u64) -> u64 {
        cfa
    }

    fn strip(&self, address: u64) -> u64 {
        address
    }

    fn learn(&mut self, register: u32, value: u64) {
        match register {
            10 => self.r10 = Some(value),
            11 => self.r11 = Some(value),
            _ => {}
        }
    }

    fn caller(&self, pc: u64, sp: u64, fp: u64) -> Self {
        Self::new(pc, sp, fp)
    }
}
