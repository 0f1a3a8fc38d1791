//! What a kernel in C gives the library: functions of its own, a console that fails, and pointers that are null.

use std::fs;

use qemu::machine::Arch;

use super::build::{Tools, replace};
use super::reports::{exception, expect_both};

/// A linker takes them from the library only if the kernel has none, and both are no error.
pub fn functions_of_the_kernel_take_the_place_of_the_librarys(tools: Tools) {
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
pub fn a_failure_of_the_console_is_one_line(tools: Tools) {
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
pub fn what_the_header_allows_to_be_null_may_be(tools: Tools) {
    let said = tools.with(|folder| {
        let install = "install_traps();";
        replace(
            folder,
            "main.c",
            install,
            "unwind_stacks_by(0);\n\tinstall_traps();",
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
        Arch::X86_64 => "\nno stack is readable, because ",
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
