//! The processors that can be booted, whose machines are walked from outside and kept as dumps.

use std::fmt;

use super::Arch;

/// What a kernel is built for and boots on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Processor {
    /// AMD64, on a PC.
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit Arm, on QEMU's `virt` board unless another one is named.
    #[value(name = "aarch64")]
    Aarch64,
    /// 32-bit Arm, on QEMU's `virt` board with a Cortex-A15.
    #[value(name = "armv7a")]
    Armv7a,
}

impl Processor {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Aarch64, Self::Armv7a];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Armv7a => "armv7a",
        }
    }

    /// Rust's target for a kernel.
    ///
    /// Both of Arm without floating point: a kernel that used the vector registers would have to save them at every trap.
    #[must_use]
    pub const fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-none",
            Self::Aarch64 => "aarch64-unknown-none-softfloat",
            Self::Armv7a => "armv7a-none-eabi",
        }
    }

    /// Bytes of a word, of which a kernel's stacks are made.
    #[must_use]
    pub const fn word(self) -> u64 {
        match self {
            Self::X86_64 | Self::Aarch64 => 8,
            Self::Armv7a => 4,
        }
    }

    /// QEMU's emulator.
    #[must_use]
    pub const fn emulator(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Aarch64 => "qemu-system-aarch64",
            Self::Armv7a => "qemu-system-arm",
        }
    }

    /// The package with [`Self::emulator`] on Debian and Ubuntu.
    #[must_use]
    pub const fn emulator_package(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86",
            Self::Aarch64 | Self::Armv7a => "qemu-system-arm",
        }
    }
}

impl From<Arch> for Processor {
    fn from(arch: Arch) -> Self {
        arch.processor()
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
