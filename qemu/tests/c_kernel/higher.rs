//! A kernel in C in the upper half, on x86-64, with physical memory mapped at another address than its own.

use std::fs;
use std::path::Path;

use qemu::workspace;

use super::build::{Tools, replace};
use super::reports::{begin, declare_stacks, exception, expect_both};

/// Where physical memory is mapped.
const PHYSICAL: &str = "0xffff800000000000";

/// Has it linked there, and tells where physical memory is.
fn lift(folder: &Path) {
    for file in ["x86_64/boot.S", "x86_64/kernel.ld"] {
        let from = workspace::root().join("qemu/tests/c_kernel/higher");
        fs::copy(from.join(file), folder.join(file)).expect("a file can be copied");
    }
    let model = "-mno-red-zone -mcmodel=kernel";
    replace(folder, "Makefile", "-mno-red-zone", model);
    let [before, after] = ["0", PHYSICAL].map(|at| format!("unwind_physical_memory_at({at});"));
    replace(folder, "main.c", &before, &after);
}

/// The page tables tell what is memory, which are found at that address.
pub fn a_kernel_in_the_upper_half_is_reported(tools: Tools) {
    let said = tools.with(lift);
    assert!(said.text.contains(" p serve+"), "{}", said.text);
    let [breakpoint, panic] = expect_both(tools, &said);
    for frame in breakpoint.frames.iter().chain(&panic.frames) {
        assert!(frame.address > 0xffff_ffff_8010_0000, "{}", said.text);
    }
}

pub fn declared_stacks_in_the_upper_half_are_reported(tools: Tools) {
    let said = tools.with(|folder| {
        lift(folder);
        declare_stacks(folder);
        let read = "return *(volatile unsigned *)0x7000000000 + wanted;";
        replace(folder, "shop.c", "return wanted * 3;", read);
    });
    let trace = format!("p sell\nr serve\n{}", begin(tools));
    let end = "complete, ";
    said.expect_end(exception(tools.arch)[1], &trace, end);
}
