//! The architectures.

use std::fmt;

/// An architecture that can be booted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
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

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Rust's target for a kernel.
    ///
    /// AArch64 without floating point: a kernel that used the vector registers would have to save them at every trap.
    #[must_use]
    pub const fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-none",
            Self::Aarch64 => "aarch64-unknown-none-softfloat",
        }
    }

    /// QEMU's emulator.
    #[must_use]
    pub const fn emulator(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Aarch64 => "qemu-system-aarch64",
        }
    }

    /// The package with [`Self::emulator`] on Debian and Ubuntu.
    #[must_use]
    pub const fn emulator_package(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86",
            Self::Aarch64 => "qemu-system-arm",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
