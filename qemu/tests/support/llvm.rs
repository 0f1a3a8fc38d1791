//! Finds LLVM's symbolizer, which reads debug information with none of our code.

use std::path::{Path, PathBuf};
use std::process::Command;

use qemu::setup;

use super::built::target;

/// The names under which distributions have a symbolizer that knows markup, LLVM's from version 16 on; and the packages to
/// install: Debian 12's `llvm` is version 14, which is too old, that of Debian 13 and Ubuntu is newer.
const NAMES: [&str; 5] = [
    "llvm-symbolizer",
    "llvm-symbolizer-16",
    "llvm-symbolizer-18",
    "llvm-symbolizer-19",
    "llvm-symbolizer-20",
];
const PACKAGES: [(&str, &str); 2] = [
    ("llvm-symbolizer-16", "llvm-16"),
    ("llvm-symbolizer", "llvm"),
];

/// A symbolizer that knows markup.
pub fn symbolizer() -> PathBuf {
    let installed = NAMES.into_iter().map(PathBuf::from);
    if let Some(found) = installed.into_iter().find(|name| knows_markup(name)) {
        return found;
    }
    let packages = PACKAGES.into_iter();
    let mut installed =
        packages.filter_map(|(name, package)| setup::program(name, package, &target()).ok());
    installed
        .find(|program| knows_markup(program))
        .expect("llvm-symbolizer of LLVM 16 or later is to be had (package llvm)")
}

fn knows_markup(program: &Path) -> bool {
    let help = Command::new(program).arg("--help").output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--filter-markup"))
}
