//! A kernel in C with two CPUs: the report of a panic has the callers of both.

use std::fs;
use std::path::Path;

use qemu::machine::Arch;
use qemu::workspace;

use super::build::{Tools, replace};
use super::reports::begin;

/// Has the kernel start another CPU, and stop it before the report of a panic.
fn start_other(tools: Tools, folder: &Path) {
    let own = format!("{}/cpus.c", tools.arch);
    let from = workspace::root().join("qemu/tests/c_kernel/cpus");
    for name in [&own, "work.c"] {
        fs::copy(from.join(name), folder.join(name)).expect("a file can be copied");
    }
    let objects = "$(ARCH)/machine.o $(ARCH)/cpus.o work.o main.o";
    replace(folder, "Makefile", "$(ARCH)/machine.o main.o", objects);
    let outermost = "LDFLAGS += --sframe-outermost=other -T";
    replace(folder, "Makefile", "LDFLAGS += -T", outermost);
    let starts = "void start_other(void);\n\textern volatile int works;\n\tstart_other();\n\twhile (!works)\n\t\t;\n\tserve(3);";
    replace(folder, "main.c", "serve(3);", starts);
    let print = "unwind_print(put_char, why);";
    let stops = format!("void stop_other(void);\n\tunwind_stop_others(stop_other, 1);\n\t{print}");
    replace(folder, "main.c", print, &stops);
    let machine = format!("{}/machine.c", tools.arch);
    let boot = format!("{}/boot.S", tools.arch);
    match tools.arch {
        Arch::X86_64 => {
            let global = ".code32\n.global level3, level4, gdt\n";
            replace(folder, &boot, ".code32\n", global);
            let traps = "x86_64/trap.S";
            replace(folder, traps, "TRAP 3, 0", "TRAP 2, 0\nTRAP 3, 0");
            replace(
                folder,
                &machine,
                "trap_3(void)",
                "trap_2(void), trap_3(void)",
            );
            let gates = "set_gate(2, trap_2);\n\tset_gate(3, trap_3);";
            replace(folder, &machine, "set_gate(3, trap_3);", gates);
            let handles = "{\n\tif (frame->vector == 2) {\n\t\tstruct unwind_registers at = { frame->rip, frame->rsp, frame->rbp, frame->cs & 3 };\n\t\tunwind_stop_if_asked(&at);\n\t\treturn;\n\t}\n\tprint(\"trap \");";
            replace(folder, &machine, "{\n\tprint(\"trap \");", handles);
        }
        Arch::Aarch64 => {
            replace(folder, &boot, ".global start\n", ".global start, level1\n");
            let handles = "{\n\tint is_interrupt(void);\n\tif (is_interrupt()) {\n\t\tunwind_stop_if_asked(0);\n\t\treturn;\n\t}\n\tprint(\"trap, ESR_EL1 \");";
            replace(folder, &machine, "{\n\tprint(\"trap, ESR_EL1 \");", handles);
        }
    }
}

pub fn a_report_has_the_callers_of_another_cpu(tools: Tools) {
    let said = tools.with(|folder| {
        super::handlers::describe(tools, folder);
        start_other(tools, folder);
    });
    let text = &said.text;
    println!("{tools:?}: {text}");
    let panic = format!(
        "p unwind_print\nr panic\nr~ take\nr sell\nr serve\n{}",
        begin(tools)
    );
    said.expect("no apples left\ncpu 0, ", &panic);
    let other = "p sweep\nr work\nr other";
    said.expect_end("cpu 1, stopped at ", other, "complete, ");
    assert_eq!(text.matches("\ncpu 1, ").count(), 1, "{text}");
    assert!(!text.contains("no answer"), "{text}");
    // The breakpoint before stops nobody.
    let (breakpoint, _) = text.split_once("panic: ").expect("two reports");
    assert!(!breakpoint.contains("cpu "), "{text}");
}
