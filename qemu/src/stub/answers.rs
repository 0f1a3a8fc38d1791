//! What the stub said of a CPU, kept to be read later.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::state::State;
use super::{aarch64, armv7a, x86_64};
use crate::hardware::Processor;

/// The stub's answers, in its own digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    arch: Processor,
    registers: Vec<String>,
}

/// How a CPU translates addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// Registers of x86-64.
    X86 {
        /// CR0, which says whether it does.
        cr0: u64,
        /// CR3: where the tables are.
        cr3: u64,
        /// CR4, which says how many levels they have.
        cr4: u64,
        /// EFER, which says whether it is in long mode.
        efer: u64,
    },
    /// Registers of AArch64, for a kernel and its programs.
    Arm {
        /// A program runs, which may not read the kernel.
        is_user: bool,
        /// SCTLR_EL1, which says whether it does.
        control: u64,
        /// TCR_EL1: the format of the tables.
        translation: u64,
        /// TTBR0_EL1 and TTBR1_EL1: where they are.
        tables: [u64; 2],
    },
    /// Registers of AArch64, for a hypervisor.
    Hypervisor {
        /// SCTLR_EL2.
        control: u64,
        /// TCR_EL2.
        translation: u64,
        /// TTBR0_EL2.
        table: u64,
    },
    /// Registers of 32-bit ARM.
    Arm32 {
        /// A program runs, which may not read the kernel.
        is_user: bool,
        /// SCTLR, which says whether it does.
        control: u64,
        /// TTBCR: which addresses each table has.
        translation: u64,
        /// TTBR0 and TTBR1: where they are.
        tables: [u64; 2],
    },
}

impl Answers {
    pub(super) fn new(arch: Processor, answers: Vec<Vec<u8>>) -> Self {
        let answers = answers.iter();
        let registers = answers.map(|answer| String::from_utf8_lossy(answer).into_owned());
        Self {
            arch,
            registers: registers.collect(),
        }
    }

    /// Whose they are.
    #[must_use]
    pub const fn processor(&self) -> Processor {
        self.arch
    }

    /// The registers that a walk begins with.
    ///
    /// # Errors
    /// When some are missing.
    pub fn state(&self) -> Result<State> {
        match self.arch {
            Processor::X86_64 => x86_64::state(&self.bytes()),
            Processor::Aarch64 => aarch64::state(&self.bytes()),
            Processor::Armv7a => armv7a::state(&self.bytes()),
        }
    }

    /// How addresses are translated.
    ///
    /// # Errors
    /// When registers are missing, or it is done in a way that is not known here.
    pub fn paging(&self) -> Result<Paging> {
        match self.arch {
            Processor::X86_64 => x86_64::paging(&self.bytes()),
            Processor::Aarch64 => aarch64::paging(&self.bytes()),
            Processor::Armv7a => armv7a::paging(&self.bytes()),
        }
    }

    /// All registers that are known, by their names.
    #[must_use]
    pub fn named(&self) -> Vec<(String, u64)> {
        match self.arch {
            Processor::X86_64 => x86_64::named(&self.bytes()),
            Processor::Aarch64 => aarch64::named(&self.bytes()),
            Processor::Armv7a => armv7a::named(&self.bytes()),
        }
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let registers = self.registers.iter();
        registers
            .map(|digits| digits.clone().into_bytes())
            .collect()
    }
}
