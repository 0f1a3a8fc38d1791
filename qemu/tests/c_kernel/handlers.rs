//! Failures in a handler of a kernel in C: its frames are in the report, and those of what it has interrupted.

use std::path::Path;

use qemu::machine::Arch;

use super::build::{Tools, replace};
use super::reports::{begin, exception};
use crate::guide::steps;
use crate::guide::text::part;

/// What the guide changes in vectors that are not followed.
pub fn describe(tools: Tools, folder: &Path) {
    if tools.arch == Arch::Aarch64 {
        let lines = steps::apply(&part("c.md#Failures in a handler"), folder);
        assert_eq!(lines, 7);
    }
}

/// The handler's frames, and what a breakpoint has interrupted.
fn across(tools: Tools, handler: &str) -> String {
    let entry = "r all_traps\n-- interrupted\np serve";
    format!("{handler}\n{entry}\n{}", begin(tools))
}

/// Puts a statement before the report of exceptions.
fn before_report(tools: Tools, folder: &Path, statement: &str) {
    let file = format!("{}/machine.c", tools.arch);
    let report = "unwind_fault(put_char, \"\", ";
    let with = format!("{statement}\n\t{report}");
    replace(folder, &file, report, &with);
}

/// What was interrupted is a function that keeps its return address in a register, where there is one for that.
pub fn a_panic_in_a_handler_is_reported_across_it(tools: Tools) {
    let said = tools.with(|folder| {
        before_report(tools, folder, "panic(\"no handler\");");
        let breakpoint = "__asm__ volatile(BREAKPOINT);";
        replace(folder, "shop.c", breakpoint, "stop();");
        let stop = format!(
            "static __attribute__((noinline)) void stop(void)\n{{\n\t{breakpoint}\n}}\n\nvoid serve("
        );
        replace(folder, "shop.c", "void serve(", &stop);
    });
    let trace = across(tools, "p unwind_print\nr panic\nr trap");
    let trace = trace.replace("p serve", "p stop\nr serve");
    said.expect("panic: no handler", &trace);
}

/// A handler that reads where nothing is, the first time.
pub fn an_exception_in_a_handler_is_reported_across_it(tools: Tools) {
    let said = tools.with(|folder| {
        let read = "static int seen;\n\tif (!seen++)\n\t\t*(volatile int *)0x7000000000;";
        before_report(tools, folder, read);
    });
    said.expect(exception(tools.arch)[1], &across(tools, "p trap"));
}

/// In a handler without registers: on x86-64 one whose entry the compiler has made.
pub fn a_report_may_begin_at_what_was_interrupted(tools: Tools) {
    let said = tools.with(|folder| {
        let file = format!("{}/machine.c", tools.arch);
        let call = "unwind_print_interrupted(put_char, \"stopped\");";
        match tools.arch {
            Arch::X86_64 => {
                let handler = format!(
                    "struct interrupted;\n__attribute__((interrupt)) static void stopped(struct interrupted *at)\n\
                     {{\n\t(void)at;\n\t{call}\n}}\n\nvoid install_traps(void)\n"
                );
                replace(folder, &file, "void install_traps(void)\n", &handler);
                let gate = "set_gate(3, (void (*)(void))stopped);";
                replace(folder, &file, "set_gate(3, trap_3);", gate);
            }
            Arch::Aarch64 => {
                let goes_on = "if (frame->esr >> 26 != 0x3c)";
                let with = format!("{call}\n\t{goes_on}");
                replace(folder, &file, goes_on, &with);
            }
        }
    });
    let own = match tools.arch {
        Arch::X86_64 => 2,
        Arch::Aarch64 => 3,
    };
    let trace = format!(
        "-- {own} frames left out\n-- interrupted\np serve\n{}",
        begin(tools)
    );
    said.expect("stopped\n", &trace);
    assert!(said.text.contains("panic: no apples left"), "{}", said.text);
}
