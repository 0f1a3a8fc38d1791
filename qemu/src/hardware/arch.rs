//! The architectures of 64 bits.

use std::fmt;

use super::Processor;

/// An architecture of 64 bits: its tables are SFrame's, and the oracle's command follows all of its tasks and CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Arch {
    /// AMD64, on a PC.
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit Arm, on QEMU's `virt` board unless another one is named.
    #[value(name = "aarch64")]
    Aarch64,
}

impl Arch {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// Its processor.
    #[must_use]
    pub const fn processor(self) -> Processor {
        match self {
            Self::X86_64 => Processor::X86_64,
            Self::Aarch64 => Processor::Aarch64,
        }
    }

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.processor().name()
    }

    /// Rust's target for a kernel.
    #[must_use]
    pub const fn triple(self) -> &'static str {
        self.processor().triple()
    }

    /// QEMU's emulator.
    #[must_use]
    pub const fn emulator(self) -> &'static str {
        self.processor().emulator()
    }

    /// The package with [`Self::emulator`] on Debian and Ubuntu.
    #[must_use]
    pub const fn emulator_package(self) -> &'static str {
        self.processor().emulator_package()
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
