//! What is left of an image's rows holds: a second proof finds nothing wrong with it.

use std::fs;

use crate::common::proven::proof_of;
use crate::common::{folder, program};
use linker::image::Image;
use linker::symbols::Symbols;

/// Compiles the program without an operating system, and proves its rows twice. Bytes of code that have new rows.
fn check(name: &str, arguments: &[&str]) -> u64 {
    let folder = folder(name);
    program(&folder, arguments);
    let data = fs::read(folder.join("image")).unwrap();
    let image = Image::parse(&data).unwrap();
    let tally = proof_of(&image, &Symbols::of(&image.file)).tally;
    assert!(tally.decided() > 0, "{tally:?}");
    tally.made
}

const LEVELS: [&str; 5] = ["0", "1", "3", "s", "z"];

#[test]
fn rows_of_a_compiler() {
    for level in LEVELS {
        let name = format!("again_{level}");
        check(&name, &[&format!("-Copt-level={level}")]);
    }
}

#[test]
fn rows_that_the_code_tells() {
    for level in LEVELS {
        let optimize = format!("-Copt-level={level}");
        let arguments = [&*optimize, "-Cforce-unwind-tables=no"];
        let made = check(&format!("again_bare_{level}"), &arguments);
        assert!(made > 0, "{level}");
    }
}
