//! LLVM's symbolizer, which reads debug information with none of our code.

use std::path::PathBuf;
use std::process::Command;

use qemu::setup;

use super::built::target;

/// The oldest that knows markup is LLVM 16's, which no distribution calls by its plain name.
const SYMBOLIZER: (&str, &str) = ("llvm-symbolizer-16", "llvm-16");

/// A symbolizer that knows markup: the distribution's own where that is new enough.
pub fn symbolizer() -> PathBuf {
    let help = Command::new("llvm-symbolizer").arg("--help").output();
    let knows =
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--filter-markup"));
    if knows {
        return "llvm-symbolizer".into();
    }
    setup::program(SYMBOLIZER.0, SYMBOLIZER.1, &target()).expect("a symbolizer is to be had")
}
