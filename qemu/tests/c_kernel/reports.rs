//! What a kernel in C says as it is: of a breakpoint, of a panic, of a read where nothing is, and without the library.

use std::fs;
use std::path::Path;

use qemu::machine::Arch;

use super::build::{CROSS_GCC, GCC, Said, Tools, replace};
use super::code;
use crate::guide::steps;
use crate::guide::text::{part, shown, without_numbers};
use crate::support::report::Report;

/// Where all begins.
pub fn begin(tools: Tools) -> &'static str {
    match tools.arch {
        Arch::X86_64 => "r kernel_main\nr long_mode",
        Arch::Aarch64 => "r kernel_main\nr start",
    }
}

/// The first line of an exception, without its address: of a breakpoint, and of a read where nothing is.
pub fn exception(arch: Arch) -> [&'static str; 2] {
    match arch {
        Arch::X86_64 => ["trap 3 at 0x", "trap 14 at 0x"],
        Arch::Aarch64 => [
            "trap, ESR_EL1 0x00000000f2000000, at 0x",
            "trap, ESR_EL1 0x0000000096000005, at 0x",
        ],
    }
}

/// Fails unless a frame is there with these functions, innermost first, each where its file has this text.
#[track_caller]
fn expect_places(said: &Said, report: &Report, expected: &[(&str, &str, &str)]) {
    let name = expected.last().map(|(name, ..)| *name);
    let frame = report.frames.iter().find(|one| one.name.as_deref() == name);
    let frame = frame.unwrap_or_else(|| panic!("no {name:?} in:\n{}", report.text));
    let found = frame.sources.iter().map(|source| {
        let (file, line) = source.place.clone().expect("its line is known");
        (source.name.clone(), file, line)
    });
    let expected = expected.iter().map(|(name, file, text)| {
        let path = said.folder().join(file);
        let text_of = fs::read_to_string(path).expect("the file is there");
        let line = text_of.lines().position(|line| line.contains(text));
        let line = line.unwrap_or_else(|| panic!("no {text:?} in {file}")) + 1;
        let line = u32::try_from(line).expect("a short file");
        ((*name).to_owned(), (*file).to_owned(), line)
    });
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

pub fn without_the_library_it_says_nothing_of_callers(tools: Tools) {
    let text = tools.without().text;
    let last = text.lines().last();
    assert_eq!(last, Some("panic: no apples left"), "{text}");
    assert!(text.contains(exception(tools.arch)[0]), "{text}");
    assert!(!text.contains("backtrace"), "{text}");
}

/// The two reports of the kernel as it is.
#[track_caller]
pub fn expect_both(tools: Tools, said: &Said) -> [Report; 2] {
    let breakpoint = format!("p serve\n{}", begin(tools));
    let breakpoint = said.expect(exception(tools.arch)[0], &breakpoint);
    let panic = format!(
        "p unwind_print\nr panic\nr~ take\nr sell\nr serve\n{}",
        begin(tools)
    );
    [breakpoint, said.expect("panic: no apples left", &panic)]
}

pub fn a_breakpoint_and_a_panic_are_reported(tools: Tools) {
    let said = tools.with(|_| ());
    assert_eq!(said.warnings, "");
    let [_, panic] = expect_both(tools, &said);
    expect_places(
        &said,
        &panic,
        &[
            ("take", "shop.c", "panic(\"no apples left\")"),
            ("sell", "shop.c", "take(customer / 2 + 1)"),
        ],
    );
    expect_places(&said, &panic, &[("serve", "shop.c", "sell(customer);")]);
    expect_places(&said, &panic, &[("kernel_main", "main.c", "serve(3);")]);
    code::expect_general_registers_and_no_red_zone(&said.image);
}

/// The page fault of a function that is inlined.
/// Declares the stack as the guide says.
pub fn declare_stacks(folder: &Path) {
    let lines = steps::apply(&part("c.md#Several stacks"), folder);
    assert_eq!(lines, 7);
}

pub fn declared_stacks_are_reported(tools: Tools) {
    expect_both(tools, &tools.with(declare_stacks));
}

/// The boot code loads the stack's address from memory, so that only a call can tell where the stack begins.
#[test]
fn a_noted_stack_is_known() {
    let unknown = |folder: &Path| {
        let load = "\tmovl $stack_end, %esp\n";
        replace(folder, "x86_64/boot.S", load, "\tmovl stack_top, %esp\n");
        let data = ".global stack_start, stack_end\n";
        let with_top = ".data\nstack_top: .quad stack_end\n.bss\n";
        replace(folder, "x86_64/boot.S", data, &[data, with_top].concat());
    };
    let said = GCC.with(unknown);
    let ends = said
        .text
        .matches("in doubt (it is unknown whether the stack begins at ");
    assert_eq!(ends.count(), 2, "{}", said.text);
    let said = GCC.with(|folder| {
        unknown(folder);
        let install = "\tinstall_traps();\n";
        let note = "\tunwind_note_stack();\n";
        replace(folder, "main.c", install, &[note, install].concat());
    });
    expect_both(GCC, &said);
}

pub fn a_read_of_nothing_is_reported(tools: Tools) {
    let said = tools.with(|folder| {
        let read = "return *(volatile unsigned *)0x7000000000 + wanted;";
        replace(folder, "shop.c", "return wanted * 3;", read);
    });
    let trace = format!("p sell\nr serve\n{}", begin(tools));
    said.expect(exception(tools.arch)[1], &trace);
}

#[test]
fn the_guide_shows_what_a_kernel_in_c_says() {
    for (tools, begin, place) in [
        (GCC, "panic: ", "c.md"),
        (CROSS_GCC, exception(Arch::Aarch64)[0], "c.md#AArch64"),
    ] {
        let text = tools.with(|_| ()).text;
        let report = &text[text.find(begin).expect("a report")..];
        let (report, _) = report.split_once(" frames\n").expect("its last line");
        let shown = shown(&part(place));
        assert_eq!(
            without_numbers(report).trim_end().to_owned() + " frames",
            shown.trim_end()
        );
    }
}
