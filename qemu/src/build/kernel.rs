//! Builds the kernel.

use std::path::{Path, PathBuf};

use ::linker::link::{KEEP_VARIABLE, KEPT_ARGUMENTS};
use anyhow::Result;

use super::bare_metal::{FOLDER, build_core, for_target};
use super::cargo::run;
use super::linker;
use crate::hardware::{Arch, Processor};
use crate::setup::{self, CoreLibrary};

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

/// How the kernel is compiled. `core` and `alloc` are the optimized ones of the toolchain, unless the profile names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Not optimized.
    Debug,
    /// Optimized.
    Release,
    /// Not optimized, `core` and `alloc` neither.
    Unoptimized,
    /// Optimized, without unwind tables and debug information, also in `core` and `alloc`.
    Plain,
    /// Optimized to this level, also `core` and `alloc`; otherwise as [`Self::Release`].
    Level(Level),
    /// Optimized, with signed return addresses, also in `core` and `alloc`. Only AArch64 has them.
    Signed,
    /// Not optimized, in Thumb code, which only 32-bit ARM has.
    ThumbDebug,
    /// Optimized, in Thumb code.
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
            Self::Debug | Self::Unoptimized | Self::ThumbDebug => "debug",
            Self::Release | Self::Plain | Self::Level(_) | Self::Signed | Self::ThumbRelease => {
                "release"
            }
        }
    }

    /// Whether functions may be inlined.
    #[must_use]
    pub const fn is_optimized(self) -> bool {
        !matches!(self, Self::Debug | Self::Unoptimized | Self::ThumbDebug)
    }

    /// Whether `core` and `alloc` are compiled as the kernel is.
    const fn builds_core(self) -> bool {
        matches!(
            self,
            Self::Unoptimized | Self::Plain | Self::Level(_) | Self::Signed
        )
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
    /// Builds the kernel with its tables, and returns the image's path. `target` is the workspace's target folder.
    ///
    /// # Errors
    /// Returns an error if `core` is missing or cargo fails.
    pub fn build(self, target: &Path) -> Result<PathBuf> {
        self.build_with(target, FOLDER, setup::core_library)
    }

    /// Builds the kernel with a `core` that the set-up compiles, as on a machine without rustup, in its own target folder.
    ///
    /// # Errors
    /// Returns an error if the source of `core` is missing or cargo fails.
    pub fn build_with_own_core(self, target: &Path) -> Result<PathBuf> {
        self.build_with(target, "kernel-with-own-core", setup::own_core_library)
    }

    /// Builds the kernel in a folder below `target`, with the `core` that `find` returns unless the profile compiles its own.
    fn build_with(
        self,
        target: &Path,
        folder: &str,
        find: impl FnOnce(&str, &Path) -> Result<CoreLibrary>,
    ) -> Result<PathBuf> {
        let triple = match self.profile {
            Profile::ThumbDebug | Profile::ThumbRelease => THUMB,
            _ => self.arch.into().triple(),
        };
        let mut folder = target.join(folder);
        // Kernels of one name and one of cargo's profiles would replace each other.
        match self.profile {
            Profile::Debug | Profile::Release | Profile::ThumbDebug | Profile::ThumbRelease => {}
            Profile::Unoptimized => folder.push("unoptimized"),
            Profile::Plain => folder.push("plain"),
            Profile::Signed => folder.push("signed"),
            Profile::Level(level) => folder.push(format!("level-{}", level.name())),
        }
        // The linker takes a minute to build, so a missing library is reported first.
        let library = match self.profile.builds_core() {
            true => None,
            false => Some(find(triple, target)?),
        };
        let linker = linker::build(target)?;
        let mut command = for_target("build", triple, linker.as_os_str());
        command.env(KEEP_VARIABLE, INPUTS);
        match library {
            Some(library) => library.give_to(&mut command),
            None => build_core(&mut command, triple, target)?,
        }
        if self.profile.is_optimized() {
            command.arg("--release");
        }
        // Cargo puts these flags after those of `.cargo/config.toml`, and the last one wins.
        let mut flags = |flags: &str| {
            let flags = format!("target.{triple}.rustflags=[{flags}]");
            command.args(["--config", &flags]);
        };
        match self.profile {
            Profile::Plain => {
                flags(r#""-Cforce-unwind-tables=no""#);
                // Debug information would bring `.debug_frame`, which has the same content as `.eh_frame`.
                command.args(["--config", "profile.release.debug=0"]);
            }
            Profile::Signed => {
                flags(r#""-Zbranch-protection=pac-ret", "--cfg=signed_return_addresses""#);
            }
            Profile::Level(level) => {
                command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level.name());
            }
            _ => {}
        }
        command
            .args(["--package", "kernel", "--target-dir"])
            .arg(&folder);
        run(command, "the kernel")?;
        Ok(folder.join(triple).join(self.profile.name()).join("kernel"))
    }
}
