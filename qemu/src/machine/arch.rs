//! The architectures, and what differs between their machines.

use std::fmt;

/// An architecture that can be booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Arch {
    /// AMD64, on a PC.
    #[value(name = "x86_64")]
    X86_64,
    /// 64-bit Arm, on QEMU's `virt` board.
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

    /// The machine, and the way its verdict gets out.
    ///
    /// Emulated on every host, never by KVM, so that a run on one machine is like a run on another. `max` is every
    /// feature that QEMU can emulate; none does anything before the kernel turns it on.
    pub(super) const fn machine(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &[
                "-machine",
                "q35,accel=tcg",
                "-cpu",
                "max",
                // A byte `v` written to this port ends QEMU with status `2 v + 1`.
                "-device",
                "isa-debug-exit,iobase=0xf4,iosize=0x04",
            ],
            Self::Aarch64 => &[
                "-machine",
                "virt,accel=tcg",
                "-cpu",
                "max",
                // SYS_EXIT ends QEMU with the status it is given.
                "-semihosting-config",
                "enable=on,target=native",
            ],
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
