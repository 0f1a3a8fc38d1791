//! Instruction counts: `cargo bench -p sframe-proof --bench instructions`. What wall clock cannot show on a busy machine:
//! these numbers are the same in every run.
//!
//! Names are those of a linked ELF file with debug information, `NAMES_OF=FILE`, or of this program: other addresses after each change.
//!
//! Needs valgrind, and `cargo install gungraun-runner --version 0.20.0`.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "wall clock is taken of more than is counted here")]
mod common;
mod groups;
#[path = "../common/names.rs"]
mod names;

use std::process::{Command, Stdio};

fn main() {
    let starts = |program: &str| {
        let mut command = Command::new(program);
        let command = command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok()
    };
    // Under valgrind the runner starts this program again.
    let inside = std::env::args().any(|word| word == "--gungraun-run");
    if inside || (starts("valgrind") && starts("gungraun-runner")) {
        groups::run();
    } else {
        println!(
            "no instruction counts: they need valgrind (`apt install valgrind`) and \
             `cargo install gungraun-runner --version 0.20.0`"
        );
    }
}
