//! Builds the kernel.

use std::path::{Path, PathBuf};

use ::linker::link::{KEEP_VARIABLE, KEPT_ARGUMENTS};
use anyhow::Result;

use super::bare_metal::for_target;
use super::cargo::run;
use super::linker;
use crate::hardware::{Arch, Processor};
use crate::setup::RustSrc;

/// Rust's target for Thumb code.
const THUMB: &str = "thumbv7a-none-eabi";

/// The folder beside the linker's output file in which the inputs of a kernel's last link are kept.
const INPUTS: &str = "inputs";

/// Returns the response file with which `sframe-link` makes the last link of a kernel again; `image` is the path from [`Kernel::build`].
#[must_use]
pub fn link_again(image: &Path) -> PathBuf {
    image
        .with_file_name("deps")
        .join(INPUTS)
        .join(KEPT_ARGUMENTS)
}

/// How much the compiler optimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Not at all.
    Debug,
    /// Fully.
    Release,
    /// Fully, without unwind tables and debug information, also in `core` and `alloc`. It resembles a build by stable Rust with
    /// its prebuilt `core`.
    Plain,
    /// As this level of optimization does, and otherwise as [`Self::Release`].
    Level(Level),
    /// Fully, with signed return addresses, which only AArch64 has.
    Signed,
    /// Not at all, in Thumb code, which only 32-bit ARM has.
    ThumbDebug,
    /// Fully, in Thumb code.
    ThumbRelease,
}

/// A level of optimization that is neither that of [`Profile::Debug`] nor of [`Profile::Release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Level {
    /// A little.
    #[value(name = "1")]
    One,
    /// Most of it.
    #[value(name = "2")]
    Two,
    /// For size.
    #[value(name = "s")]
    S,
    /// For size, without vectors in loops.
    #[value(name = "z")]
    Z,
}

impl Level {
    /// What the compiler calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::S => "s",
            Self::Z => "z",
        }
    }
}

impl Profile {
    /// The profiles that `cargo run` offers.
    pub const ALL: [Self; 2] = [Self::Debug, Self::Release];

    /// The name of its folder, and for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug | Self::ThumbDebug => "debug",
            Self::Release | Self::Plain | Self::Level(_) | Self::Signed | Self::ThumbRelease => {
                "release"
            }
        }
    }

    /// Whether functions may be inlined.
    #[must_use]
    pub const fn is_optimized(self) -> bool {
        !matches!(self, Self::Debug | Self::ThumbDebug)
    }
}

/// A kernel to build: for an [`Arch`], or for any [`Processor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel<A = Arch> {
    /// For this architecture.
    pub arch: A,
    /// Optimized so.
    pub profile: Profile,
}

impl<A: Into<Processor>> Kernel<A> {
    /// Builds the kernel with its tables, and returns the image's path.
    ///
    /// # Errors
    /// When cargo fails.
    pub fn build(self, source: &RustSrc, target: &Path) -> Result<PathBuf> {
        let linker = linker::build(target)?;
        let triple = match self.profile {
            Profile::ThumbDebug | Profile::ThumbRelease => THUMB,
            _ => self.arch.into().triple(),
        };
        let mut command = for_target("build", triple, linker.as_os_str(), source);
        command.env(KEEP_VARIABLE, INPUTS);
        let mut folder = target.join("kernel");
        if self.profile.is_optimized() {
            command.arg("--release");
        }
        // Cargo puts these flags after those of `.cargo/config.toml`, and the last one wins.
        let mut flags = |flags: &str| {
            let flags = format!("target.{triple}.rustflags=[{flags}]");
            command.args(["--config", &flags]);
        };
        match self.profile {
            Profile::Debug | Profile::Release | Profile::ThumbDebug | Profile::ThumbRelease => {}
            Profile::Plain => {
                folder.push("plain");
                flags(r#""-Cforce-unwind-tables=no""#);
                // Debug information would bring `.debug_frame`, which has the same content as `.eh_frame`.
                command.args(["--config", "profile.release.debug=0"]);
            }
            Profile::Signed => {
                folder.push("signed");
                flags(r#""-Zbranch-protection=pac-ret", "--cfg=signed_return_addresses""#);
            }
            Profile::Level(level) => {
                folder.push(format!("level-{}", level.name()));
                command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level.name());
            }
        }
        command
            .args(["--package", "kernel", "--target-dir"])
            .arg(&folder);
        run(command, "the kernel")?;
        Ok(folder.join(triple).join(self.profile.name()).join("kernel"))
    }
}
