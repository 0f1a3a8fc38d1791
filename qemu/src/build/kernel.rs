//! Builds the kernel.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cargo::{cargo, run};
use super::linker;
use crate::machine::Arch;
use crate::setup::RustSrc;

/// How much the compiler optimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Not at all.
    Debug,
    /// As for use.
    Release,
}

impl Profile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Debug, Self::Release];

    /// The name of its folder, and for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}

/// A kernel to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// For this architecture.
    pub arch: Arch,
    /// Optimized so.
    pub profile: Profile,
}

impl Kernel {
    /// Builds the kernel with its tables, and gives the image's path.
    ///
    /// # Errors
    /// When cargo fails.
    pub fn build(self, source: &RustSrc, target: &Path) -> Result<PathBuf> {
        let linker = linker::build(target)?;
        self.build_with(linker.as_os_str(), source, &target.join("kernel"))
    }

    /// Builds the kernel with Rust's own linker, so without tables: what somebody gets who forgets the wrapper.
    /// In a target folder of its own, so that both can be there at the same time.
    ///
    /// # Errors
    /// When cargo fails.
    pub fn build_without_tables(self, source: &RustSrc, target: &Path) -> Result<PathBuf> {
        self.build_with(
            OsStr::new("rust-lld"),
            source,
            &target.join("kernel-without-tables"),
        )
    }

    fn build_with(self, linker: &OsStr, source: &RustSrc, folder: &Path) -> Result<PathBuf> {
        let triple = self.arch.triple();
        let variable = |what| {
            format!(
                "CARGO_TARGET_{}_{what}",
                triple.to_uppercase().replace('-', "_")
            )
        };
        let mut command = cargo("build");
        command
            .args(["--package", "kernel", "--target", triple, "--target-dir"])
            .arg(folder)
            // The prebuilt core has no unwind tables. `mem`: memcpy and its kin, which no libc provides here.
            .args([
                "-Zbuild-std=core,alloc,compiler_builtins",
                "-Zbuild-std-features=compiler-builtins-mem",
            ])
            // That the compiler will once refuse something in its own library is nothing to tell anybody here.
            .args(["--config", "future-incompat-report.frequency=\"never\""])
            .env("RUSTC_BOOTSTRAP", "1")
            .env(variable("LINKER"), linker)
            // These would take the place of the flags in `.cargo/config.toml`, without which there are no tables.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove(variable("RUSTFLAGS"));
        if self.profile == Profile::Release {
            command.arg("--release");
        }
        if let RustSrc::At(library) = source {
            // Cargo's tests use this variable to build from another source than the toolchain's; there is no other way
            // that leaves the toolchain alone.
            command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
        }
        run(command, "the kernel")?;
        Ok(folder.join(triple).join(self.profile.name()).join("kernel"))
    }
}
