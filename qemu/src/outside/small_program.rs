//! A small image for unit tests. The program that runs the tests is too large: reading an image without tables makes them from its code.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a C program with debug information in this folder, and returns its path.
pub fn small_program(folder: &Path) -> PathBuf {
    let source = folder.join("program.c");
    let program = folder.join("program");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file can be written");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-Wl,--build-id", "-o"]);
    let status = compiler.arg(&program).arg(&source).status();
    assert!(status.expect("there is a C compiler").success());
    program
}
