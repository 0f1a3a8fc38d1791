//! Builds `sframe-link`, which links the kernel.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::cargo::{cargo, run};

/// Cargo sets it for this package's tests, and they pass it on to the runner that they start.
const IN_A_TEST: &str = "CARGO_BIN_EXE_unwind-qemu";

/// The folder of test programs, of any package.
const TEST_PROGRAMS: &str = "deps";

/// Whether `cargo test` has built this program, or the one that has started it. Tests of other packages build kernels, too, and do not get the
/// variable: they would have the linker compiled once more, with fewer features.
#[must_use]
pub fn is_in_a_test() -> bool {
    let is_test_program =
        |path: PathBuf| path.parent().is_some_and(|of| of.ends_with(TEST_PROGRAMS));
    std::env::var_os(IN_A_TEST).is_some() || std::env::current_exe().is_ok_and(is_test_program)
}

/// Builds the linker, unoptimized like this program, and returns its path.
///
/// No package is named, so that cargo resolves the same features as for the command at the workspace's root that has built this
/// program, and takes what is built already: `cargo run`, which names none either, or `cargo test`, which builds the linker for its
/// own tests. The packages that only tests need turn on more features, and a build without them would compile the linker once more,
/// for a minute. Cargo is started once per process and target folder.
///
/// # Errors
/// When cargo fails.
pub fn build(target: &Path) -> Result<PathBuf> {
    static BUILT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let linker = target.join("debug/sframe-link");
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.contains(target) {
        return Ok(linker);
    }
    let mut command = match is_in_a_test() {
        false => {
            let mut command = cargo("build");
            command.args(["--bin", "sframe-link"]);
            command
        }
        true => {
            let mut command = cargo("test");
            // A test program of the linker's package: cargo builds the linker for it. No package is named here either.
            command.args(["--no-run", "--test", "linking"]);
            command
        }
    };
    command.arg("--target-dir").arg(target);
    run(command, "the linker sframe-link")?;
    built.insert(target.to_owned());
    Ok(linker)
}
