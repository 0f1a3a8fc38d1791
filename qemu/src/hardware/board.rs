//! The boards, and QEMU's arguments for them.

use std::fmt;

use super::Processor;

/// A board that can be booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Board {
    /// A PC, x86_64
    Pc,
    /// QEMU's board `virt`, AArch64
    Virt,
    /// Raspberry Pi 3 Model B, AArch64
    Raspi3b,
    /// Raspberry Pi 4 Model B, AArch64; needs QEMU 9.0 or later
    Raspi4b,
    /// QEMU's board `virt` with a 32-bit processor, ARMv7-A
    Virt32,
}

impl Board {
    /// The board that is booted unless another one is named.
    #[must_use]
    pub const fn of(processor: Processor) -> Self {
        match processor {
            Processor::X86_64 => Self::Pc,
            Processor::Aarch64 => Self::Virt,
            Processor::Armv7a => Self::Virt32,
        }
    }

    /// Its processor.
    #[must_use]
    pub const fn processor(self) -> Processor {
        match self {
            Self::Pc => Processor::X86_64,
            Self::Virt | Self::Raspi3b | Self::Raspi4b => Processor::Aarch64,
            Self::Virt32 => Processor::Armv7a,
        }
    }

    /// The name on the command line, which is QEMU's, but for `virt32`, which QEMU calls `virt` too.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pc => "pc",
            Self::Virt => "virt",
            Self::Raspi3b => "raspi3b",
            Self::Raspi4b => "raspi4b",
            Self::Virt32 => "virt32",
        }
    }

    /// Whether its firmware takes a flat image and passes a device tree, both of which the runner has to make. Other boards
    /// take the ELF file, and QEMU makes the tree.
    #[must_use]
    pub const fn is_raspberry_pi(self) -> bool {
        matches!(self, Self::Raspi3b | Self::Raspi4b)
    }

    /// QEMU's arguments: the machine with its memory and processor, and the device by which the kernel reports its verdict.
    ///
    /// Emulated on every host, never by KVM, so that a run on one machine is like a run on another. `max` is every
    /// feature that QEMU can emulate; none does anything before the kernel turns it on. A Raspberry Pi has the processor
    /// that it has.
    pub(crate) const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Pc => &[
                "-machine",
                "q35,accel=tcg",
                "-cpu",
                "max",
                "-m",
                "256M",
                // A byte `v` written to this port ends QEMU with status `2 v + 1`.
                "-device",
                "isa-debug-exit,iobase=0xf4,iosize=0x04",
            ],
            Self::Virt => &[
                "-machine",
                "virt,accel=tcg",
                "-cpu",
                "max",
                "-m",
                "256M",
                // SYS_EXIT ends QEMU with the status it is given.
                "-semihosting-config",
                "enable=on,target=native",
            ],
            Self::Raspi3b => &[
                "-machine",
                "raspi3b,accel=tcg",
                "-semihosting-config",
                "enable=on,target=native",
            ],
            Self::Raspi4b => &[
                "-machine",
                "raspi4b,accel=tcg",
                "-semihosting-config",
                "enable=on,target=native",
            ],
            // `max` would have 64 bits.
            Self::Virt32 => &[
                "-machine",
                "virt,accel=tcg",
                "-cpu",
                "cortex-a15",
                "-m",
                "256M",
                "-semihosting-config",
                "enable=on,target=native",
            ],
        }
    }

    /// How many processors it has, if that cannot be chosen.
    #[must_use]
    pub const fn fixed_cpus(self) -> Option<u32> {
        match self {
            Self::Pc | Self::Virt | Self::Virt32 => None,
            Self::Raspi3b | Self::Raspi4b => Some(4),
        }
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
