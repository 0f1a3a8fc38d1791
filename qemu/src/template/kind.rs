//! The kinds of kernels that `new` writes.

use anyhow::{Result, bail};

/// A kind of kernel.
#[derive(Debug)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line that describes it.
    pub about: &'static str,
    /// The kernel of the guide, without its changes.
    pub kernel: &'static str,
    /// The pages of the guide whose changes it has, or sections of them: `other-cpus.md#AArch64`.
    pub pages: &'static [&'static str],
    /// The address at which physical memory is mapped, unless the guide's step has it.
    pub physical: Option<&'static str>,
    /// The target that cargo builds for.
    pub triple: &'static str,
    /// The toolchain that cargo builds with: handlers of the convention `x86-interrupt` need a nightly compiler.
    pub channel: &'static str,
    /// The value of `runner` in `.cargo/config.toml`.
    pub runner: &'static str,
    /// The content of the script `boot`, if that is the runner.
    pub(super) boot: Option<&'static str>,
    /// The program of the guide that starts the kernel, and is written to the folder `loader`.
    pub(super) loader: Option<&'static str>,
}

const ON_X86_64: Kind = Kind {
    name: "multiboot",
    about: "x86-64 kernel that a Multiboot loader boots, with `extern \"x86-interrupt\"` handlers",
    kernel: "handlers",
    pages: &["multiboot.md"],
    physical: None,
    triple: "x86_64-unknown-none",
    channel: "nightly",
    runner: "[\"unwind-qemu\", \"--image\"]",
    boot: None,
    loader: None,
};

const ON_AARCH64: Kind = Kind {
    name: "aarch64",
    about: "AArch64 kernel for QEMU's board `virt`, with exception vectors that save all registers",
    kernel: "vectors",
    pages: &["aarch64.md"],
    triple: "aarch64-unknown-none-softfloat",
    channel: "stable",
    ..ON_X86_64
};

/// The script beside the kernel.
const SCRIPT: &str = "\"./boot\"";

/// A runner for four CPUs.
const FOUR: &str = "[\"unwind-qemu\", \"--cpus\", \"4\", \"--image\"]";

/// All kinds.
pub static KINDS: [Kind; 8] = [
    ON_X86_64,
    Kind {
        name: "higher-half",
        about: "x86-64 kernel like `multiboot`, linked to the upper half of the address space",
        kernel: "higher",
        physical: Some("0xffff_8000_0000_0000"),
        ..ON_X86_64
    },
    Kind {
        name: "cpus",
        about: "x86-64 kernel with four CPUs; a report contains the backtraces of all four CPUs",
        kernel: "cpus",
        pages: &["multiboot.md", "other-cpus.md#x86-64"],
        runner: FOUR,
        ..ON_X86_64
    },
    Kind {
        name: "limine",
        about: "x86-64 kernel for the Limine boot protocol; the runner boots the kernel with a small loader for this protocol",
        kernel: "limine",
        pages: &["limine.md"],
        runner: SCRIPT,
        boot: Some(include_str!("boot_limine.sh")),
        loader: Some("limine_loader"),
        ..ON_X86_64
    },
    ON_AARCH64,
    Kind {
        name: "aarch64-cpus",
        about: "AArch64 kernel with four CPUs",
        kernel: "cpus_aarch64",
        pages: &["aarch64.md", "other-cpus.md#AArch64"],
        runner: FOUR,
        ..ON_AARCH64
    },
    Kind {
        name: "raspi3",
        about: "AArch64 kernel for a Raspberry Pi 3",
        kernel: "raspi",
        pages: &["raspberry-pi.md"],
        runner: SCRIPT,
        boot: Some(include_str!("boot_raspi3.sh")),
        ..ON_AARCH64
    },
    Kind {
        name: "armv7a",
        about: "32-bit ARM kernel for QEMU's board `virt` with a Cortex-A15",
        kernel: "armv7a",
        pages: &["armv7a.md"],
        triple: "armv7a-none-eabi",
        channel: "stable",
        ..ON_X86_64
    },
];

impl Kind {
    /// Returns the kind with this name.
    ///
    /// # Errors
    /// Returns an error with all names if there is none.
    pub fn find(name: &str) -> Result<&'static Self> {
        match KINDS.iter().find(|kind| kind.name == name) {
            Some(kind) => Ok(kind),
            None => {
                let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
                bail!(
                    "unknown kind of kernel {name:?}; expected one of: {names}",
                    names = names.join(", ")
                )
            }
        }
    }
}

/// Lists all kinds, one a line.
pub(super) fn listing() -> String {
    let line = |kind: &Kind| format!("{:<13} {}", kind.name, kind.about);
    let lines: Vec<_> = KINDS.iter().map(line).collect();
    lines.join("\n")
}
