//! Finds or fetches the source of `core` and `alloc`, for `-Zbuild-std`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::debian;
use super::once::Lock;
use super::rustc::Rustc;

/// The location of the library's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RustSrc {
    /// In the toolchain, where cargo looks by itself: a folder named `library`.
    InToolchain(PathBuf),
    /// Here: a folder named `library`.
    At(PathBuf),
}

impl RustSrc {
    /// The folder named `library`.
    #[must_use]
    pub fn library(&self) -> &Path {
        let (Self::InToolchain(library) | Self::At(library)) = self;
        library
    }

    /// Makes `command`, and each cargo that `command` starts, build the library from this source.
    pub fn give_to(&self, command: &mut Command) {
        if let Self::At(library) = self {
            // Cargo's own tests use this variable to build from another source than the toolchain's. There is no other way without
            // changing the toolchain.
            command.env("__CARGO_TESTS_ONLY_SRC_ROOT", library);
        }
    }
}

/// The compiler's flag by which locations in a library that is built from `source` read as in the compiler's distributed libraries,
/// `/rustc/COMMIT/library/core/src/...`, and not as folders of the host.
///
/// # Errors
/// Returns an error if the compiler cannot be started.
pub fn remapped(source: &RustSrc) -> Result<String> {
    // Cargo names files of the workspace relative to its root.
    let library = source.library();
    let library = library
        .strip_prefix(crate::workspace::root())
        .unwrap_or(library);
    Ok(Rustc::running()?.library_remapped(library))
}

/// The library's source: the toolchain's, or else Debian's, which is fetched once.
///
/// # Errors
/// When it is missing and cannot be fetched; the message has the command to type.
pub fn rust_src(target: &Path) -> Result<RustSrc> {
    let rustc = Rustc::running()?;
    let own = rustc.sysroot.join("lib/rustlib/src/rust/library");
    if is_library(&own) {
        return Ok(RustSrc::InToolchain(own));
    }
    let folder = target.join(format!("rust-src-{}", rustc.release));
    let library = folder.join("library");
    // The folder gets this name only when it is complete.
    if !is_library(&library) {
        let _lock = Lock::wait(target, "rust-src")?;
        if !is_library(&library) {
            debian::fetch_rust_src(&rustc.release, &folder).with_context(|| {
                format!(
                    "cannot find the library source of rustc {release} in the toolchain, and cannot get this source from Debian; \
                     to install the source, run `rustup component add rust-src`",
                    release = rustc.release
                )
            })?;
        }
    }
    Ok(RustSrc::At(library))
}

/// Whether the library's source is here, by the file that cargo reads first.
fn is_library(folder: &Path) -> bool {
    folder.join("Cargo.lock").is_file()
}
