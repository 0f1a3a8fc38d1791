//! A kernel in C that is compiled with other switches, or linked without call frame information.

use std::fs;
use std::path::Path;

use object::Object;

use super::build::{Tools, replace};
use super::reports::expect_both;

/// Changes how the kernel is compiled.
fn compile(folder: &Path, flags: &str) {
    replace(folder, "Makefile", "-O2 -g", flags);
}

pub fn call_frame_information_for_debuggers_only_is_enough(tools: Tools) {
    let said = tools.with(|folder| {
        compile(
            folder,
            "-O2 -g -fno-asynchronous-unwind-tables -fno-unwind-tables",
        );
    });
    let data = fs::read(&said.image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    assert!(file.section_by_name(".debug_frame").is_some(), "{tools:?}");
    expect_both(tools, &said);
}

/// As many kernels do, whose authors never wanted any.
pub fn without_call_frame_information_the_code_is_enough(tools: Tools) {
    let said = tools.with(|folder| {
        let script = format!("{}/kernel.ld", tools.arch);
        replace(
            folder,
            &script,
            "*(.comment",
            "*(.eh_frame .debug_frame .comment",
        );
    });
    let data = fs::read(&said.image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    for name in [".eh_frame", ".debug_frame"] {
        assert!(file.section_by_name(name).is_none(), "{tools:?}: {name}");
    }
    expect_both(tools, &said);
}

pub fn unoptimized_code_is_traced(tools: Tools) {
    let said = tools.with(|folder| compile(folder, "-O0 -g"));
    let [_, panic] = expect_both(tools, &said);
    let names = panic
        .frames
        .iter()
        .filter_map(|frame| frame.name.as_deref());
    assert!(names.clone().any(|name| name == "take"), "{}", panic.text);
}
