//! A kernel in C, which links the library of `kernel/c` by the steps of the guide: by gcc and GNU ld, and by clang and lld.

#[path = "c_kernel/build.rs"]
mod build;
#[path = "c_kernel/code.rs"]
mod code;
#[path = "c_kernel/cpus.rs"]
mod cpus;
#[path = "c_kernel/handlers.rs"]
mod handlers;
#[path = "c_kernel/higher.rs"]
mod higher;
#[path = "c_kernel/smaller.rs"]
mod smaller;
#[path = "guide/steps.rs"]
mod steps;
mod support;
#[path = "guide/text.rs"]
mod text;
#[path = "c_kernel/user.rs"]
mod user;

use std::fs;
use std::path::Path;

use build::{CLANG, CROSS_CLANG, CROSS_GCC, GCC, Said, Tools, replace};
use cpus::a_report_has_the_callers_of_another_cpu;
use handlers::{
    a_panic_in_a_handler_is_reported_across_it, a_report_may_begin_at_what_was_interrupted,
    an_exception_in_a_handler_is_reported_across_it,
};
use higher::{a_kernel_in_the_upper_half_is_reported, stacks_in_the_upper_half_need_not_be_told};
use object::{Object, ObjectSection};
use qemu::machine::Arch;
use smaller::{
    a_report_on_a_stack_of_its_own_takes_little_of_others, the_host_names_the_smallest_report,
};
use support::report::Report;
use text::{guide, part, shown, without_numbers};
use user::{
    a_fault_of_a_user_program_is_the_programs, a_panic_in_a_call_of_a_user_program_ends_there,
};

/// A test for each compiler.
macro_rules! each {
    ($($test:ident),+ $(,)?) => {
        $(
            mod $test {
                #[test]
                fn gcc() { super::$test(super::GCC); }
                #[test]
                fn cross_gcc() { super::$test(super::CROSS_GCC); }
                #[test]
                fn clang() { super::$test(super::CLANG); }
                #[test]
                fn cross_clang() { super::$test(super::CROSS_CLANG); }
            }
        )+
    };
}

each! {
    without_the_library_it_says_nothing_of_callers,
    a_breakpoint_and_a_panic_are_reported,
    a_read_of_nothing_is_reported,
    call_frame_information_for_debuggers_only_is_enough,
    without_call_frame_information_the_code_is_enough,
    unoptimized_code_is_traced,
    functions_of_the_kernel_take_the_place_of_the_librarys,
    a_failure_of_the_console_is_one_line,
    what_the_header_allows_to_be_null_may_be,
    code_and_stack_are_as_large_as_is_said,
}

/// The same, those of clang only in `.ci/long`.
macro_rules! each_of_gcc {
    ($($test:ident),+ $(,)?) => {
        $(
            mod $test {
                #[test]
                fn gcc() { super::$test(super::GCC); }
                #[test]
                fn cross_gcc() { super::$test(super::CROSS_GCC); }
                #[test]
                #[ignore = "takes long: .ci/long"]
                fn clang() { super::$test(super::CLANG); }
                #[test]
                #[ignore = "takes long: .ci/long"]
                fn cross_clang() { super::$test(super::CROSS_CLANG); }
            }
        )+
    };
}

each_of_gcc! {
    a_panic_in_a_handler_is_reported_across_it,
    an_exception_in_a_handler_is_reported_across_it,
    a_report_may_begin_at_what_was_interrupted,
    a_report_on_a_stack_of_its_own_takes_little_of_others,
    the_host_names_the_smallest_report,
    a_fault_of_a_user_program_is_the_programs,
    a_panic_in_a_call_of_a_user_program_ends_there,
    a_report_has_the_callers_of_another_cpu,
}

/// The same on x86-64.
macro_rules! each_of_gcc_on_x86_64 {
    ($($test:ident),+ $(,)?) => {
        $(
            mod $test {
                #[test]
                fn gcc() { super::$test(super::GCC); }
                #[test]
                #[ignore = "takes long: .ci/long"]
                fn clang() { super::$test(super::CLANG); }
            }
        )+
    };
}

each_of_gcc_on_x86_64! {
    a_kernel_in_the_upper_half_is_reported,
    stacks_in_the_upper_half_need_not_be_told,
}

/// Where all begins.
fn begin(tools: Tools) -> &'static str {
    match tools.arch {
        Arch::X86_64 => "r kernel_main\nr long_mode",
        Arch::Aarch64 => "r kernel_main\nr start",
    }
}

/// The first line of an exception, without its address: of a breakpoint, and of a read where nothing is.
fn exception(arch: Arch) -> [&'static str; 2] {
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

fn without_the_library_it_says_nothing_of_callers(tools: Tools) {
    let text = tools.without().text;
    let last = text.lines().last();
    assert_eq!(last, Some("panic: no apples left"), "{text}");
    assert!(text.contains(exception(tools.arch)[0]), "{text}");
    assert!(!text.contains("backtrace"), "{text}");
}

/// The two reports of the kernel as it is.
#[track_caller]
fn expect_both(tools: Tools, said: &Said) -> [Report; 2] {
    let breakpoint = format!("p serve\n{}", begin(tools));
    let breakpoint = said.expect(exception(tools.arch)[0], &breakpoint);
    let panic = format!(
        "p unwind_print\nr panic\nr~ take\nr sell\nr serve\n{}",
        begin(tools)
    );
    [breakpoint, said.expect("panic: no apples left", &panic)]
}

fn a_breakpoint_and_a_panic_are_reported(tools: Tools) {
    let said = tools.with(|_| ());
    let warnings = said.warnings.lines().map(|line| {
        let rest = line.strip_prefix("sframe-link: warning: left out of .sframe: ");
        let words = rest.unwrap_or(line).split(' ').take(2);
        words.collect::<Vec<_>>().join(" ")
    });
    assert_eq!(warnings.collect::<Vec<_>>(), expected_warnings(tools));
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

/// Nothing leads to vectors, and no rules describe them: a link says that traces end there.
fn expected_warnings(tools: Tools) -> &'static [&'static str] {
    match tools.arch {
        Arch::X86_64 => &[],
        Arch::Aarch64 => &["vectors at", "all_traps at"],
    }
}

/// The page fault of a function that is inlined.
fn a_read_of_nothing_is_reported(tools: Tools) {
    let said = tools.with(|folder| {
        let read = "return *(volatile unsigned *)0x7000000000 + wanted;";
        replace(folder, "shop.c", "return wanted * 3;", read);
    });
    let trace = format!("p sell\nr serve\n{}", begin(tools));
    said.expect(exception(tools.arch)[1], &trace);
}

/// Changes how the kernel is compiled.
fn compile(folder: &Path, flags: &str) {
    replace(folder, "Makefile", "-O2 -g", flags);
}

fn call_frame_information_for_debuggers_only_is_enough(tools: Tools) {
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
fn without_call_frame_information_the_code_is_enough(tools: Tools) {
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

fn unoptimized_code_is_traced(tools: Tools) {
    let said = tools.with(|folder| compile(folder, "-O0 -g"));
    let [_, panic] = expect_both(tools, &said);
    let names = panic
        .frames
        .iter()
        .filter_map(|frame| frame.name.as_deref());
    assert!(names.clone().any(|name| name == "take"), "{}", panic.text);
}

/// A linker takes them from the library only if the kernel has none, and both are no error.
fn functions_of_the_kernel_take_the_place_of_the_librarys(tools: Tools) {
    const OWN: &str = r#"
#include <stddef.h>
static unsigned calls;
void *memcpy(void *to, const void *from, size_t size)
{
	for (size_t at = 0; at < size; at++)
		((volatile char *)to)[at] = ((const char *)from)[at];
	calls++;
	return to;
}
size_t strlen(const char *text)
{
	size_t size = 0;
	while (((volatile const char *)text)[size])
		size++;
	calls++;
	return size;
}
"#;
    let said = tools.with(|folder| {
        let path = folder.join("print.c");
        let text = fs::read_to_string(&path).expect("the file is there") + OWN;
        let text = text
            + "void print_calls(void) { print(calls ? \"own functions\\n\" : \"none\\n\"); }\n";
        fs::write(path, text).expect("the file can be written");
        let leave = "unwind_print(put_char, why);";
        let with_calls =
            "unwind_print(put_char, why);\n\textern void print_calls(void);\n\tprint_calls();";
        replace(folder, "main.c", leave, with_calls);
    });
    expect_both(tools, &said);
    assert!(said.text.ends_with("own functions\n"), "{}", said.text);
}

/// The console fails in the middle of a report, and its failure is reported.
fn a_failure_of_the_console_is_one_line(tools: Tools) {
    let said = tools.with(|folder| {
        let file = format!("{}/machine.c", tools.arch);
        let fails = "void put_char(char c)\n{\n\tstatic int seen;\n\tif (c == 'w' && !seen++)\n\t\t*(volatile int *)0x7000000000;\n";
        replace(folder, &file, "void put_char(char c)\n{\n", fails);
        // Of the first customer, so that no report is there before.
        replace(folder, "shop.c", "customer / 2 + 1", "7");
        // The first `w` is in the report: `others not known`.
        replace(folder, "main.c", "open for business", "open");
    });
    let text = &said.text;
    let (before, after) = text
        .split_once("others not kno")
        .expect("a report has begun");
    assert!(before.contains("panic: no apples left\n"), "{text}");
    assert!(after.starts_with(exception(tools.arch)[1]), "{text}");
    assert!(after.ends_with("during the report: \n"), "{text}");
    assert_eq!(after.lines().count(), 1, "{text}");
    assert!(!said.text.contains("end of backtrace"), "{}", said.text);
}

/// Each pointer is null, once that of the console too.
fn what_the_header_allows_to_be_null_may_be(tools: Tools) {
    let said = tools.with(|folder| {
        let told = "unwind_stacks_by(stack_of);";
        replace(
            folder,
            "main.c",
            told,
            "(void)stack_of;\n\tunwind_stacks_by(0);",
        );
        let why = "unwind_print(put_char, why);";
        let nulls = "unwind_print(0, why);\n\tunwind_print(put_char, 0);";
        replace(folder, "main.c", why, nulls);
        let machine = format!("{}/machine.c", tools.arch);
        let fault = "unwind_fault(put_char, \"\", ";
        replace(
            folder,
            &machine,
            fault,
            "unwind_fault(put_char, 0, 1 ? 0 : ",
        );
        // Then nobody has told of any memory.
        if tools.arch == Arch::X86_64 {
            replace(folder, "main.c", "\tunwind_physical_memory_at(0);\n", "");
        }
    });
    let text = &said.text;
    let (fault, panic) = text.split_once("panic: ").expect("two reports");
    let after = match tools.arch {
        Arch::X86_64 => "\nno stack can be read: ",
        Arch::Aarch64 => "\naarch64, ",
    };
    assert!(panic.starts_with(after), "{text}");
    let (_, fault) = fault.split_once(exception(tools.arch)[0]).expect("a trap");
    let (_, fault) = fault.split_once('\n').expect("the rest of its line");
    assert!(format!("\n{fault}").starts_with(after), "{text}");
    for (report, first) in [(fault, "p unwind_fault+"), (panic, "p unwind_print+")] {
        assert_eq!(report.matches(first).count(), 1, "{text}");
        assert_eq!(report.matches("end of backtrace: ").count(), 1, "{text}");
    }
    let is_traced = panic.contains(" r serve+");
    assert_eq!(is_traced, tools.arch == Arch::Aarch64, "{text}");
}

/// The bytes of an image's code.
fn code_size(image: &Path) -> u64 {
    let data = fs::read(image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let text = file.section_by_name(".text").expect("there is code");
    text.size()
}

/// A report that says how much of the stack it has taken.
const MEASURED: &str = r#"volatile unsigned char *low = (void *)stack_start, *top = __builtin_frame_address(0);
	for (volatile unsigned char *at = low; at < top - 512; at++)
		*at = 0xa5;
	unwind_print(put_char, why);
	while (*low == 0xa5)
		low++;
	print("bytes of stack: ");
	print_number(top - low);
	print("\n");"#;

/// How much it says.
fn stack_taken(said: &Said) -> u64 {
    let (_, taken) = said
        .text
        .split_once("bytes of stack: ")
        .expect("it is measured");
    taken.trim().parse().expect("a number")
}

/// The header and the guide have the numbers.
fn code_and_stack_are_as_large_as_is_said(tools: Tools) {
    let said = tools.with(|folder| {
        replace(folder, "main.c", "unwind_print(put_char, why);", MEASURED);
    });
    let taken = stack_taken(&said);
    let added = code_size(&said.image) - code_size(&tools.without().image);
    println!("{tools:?}: {added} bytes of code, {taken} of stack");
    assert!((4 << 10..=5 << 10).contains(&taken), "{taken} of stack");
    assert!((75_000..=90_000).contains(&added), "{added} of code");
}

#[test]
fn the_guide_shows_what_a_kernel_in_c_says() {
    let guide = guide();
    for (tools, begin, heading) in [
        (GCC, "panic: ", "\n# In C\n"),
        (
            CROSS_GCC,
            exception(Arch::Aarch64)[0],
            "\n## In C, on AArch64\n",
        ),
    ] {
        let text = tools.with(|_| ()).text;
        let report = &text[text.find(begin).expect("a report")..];
        let (report, _) = report.split_once(" frames\n").expect("its last line");
        let shown = shown(part(&guide, heading));
        assert_eq!(
            without_numbers(report).trim_end().to_owned() + " frames",
            shown.trim_end()
        );
    }
}
