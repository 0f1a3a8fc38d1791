//! Panics where a report is hard to make: while another one is made, while the console is in use, before the kernel is up,
//! on a stack that cannot be read; on both architectures, in debug and release.

mod early;
mod epitaph;

use crate::support::boots::{boot, boot_image};
use crate::support::built::image;
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::runner::{Ran, run};
use crate::support::{corrupt, gdb, symbols, trace};
use qemu::build::{Kernel, Profile};
use qemu::machine::{Arch, Boot, Verdict};

kernel_tests! { every_and_plain:
    a_panic_while_a_panic_is_printed_is_one_line,
    an_exception_while_a_panic_is_printed_is_one_line,
    a_panic_with_the_console_locked_is_reported,
    a_stack_that_cannot_be_read_ends_the_walk,
    code_that_cannot_be_read_ends_the_walk,
    a_watched_word_of_the_stack_is_read,
    a_stack_without_room_for_the_report_has_its_callers,
}

kernel_tests! { release:
    interrupts_are_masked_while_a_report_by_one_call_is_written,
}

kernel_tests! { debug:
    registers_of_outer_levels_are_shown_when_asked_for,
    an_nmi_in_the_middle_of_a_report_does_not_break_it,
}

/// The lines after the kernel's first.
fn lines(ran: &Ran) -> Vec<String> {
    let text = ran.text();
    text.lines().skip(1).map(str::to_owned).collect()
}

fn a_panic_while_a_panic_is_printed_is_one_line(kernel: Kernel) {
    let lines = lines(&boot(kernel, "panic-in-panic").expect(101));
    let [first, second, last] = &lines[..] else {
        panic!("{kernel:?}: not three lines: {lines:#?}");
    };
    let begin = "panicked at kernel/src/scenario/display.rs:";
    assert!(first.starts_with(begin), "{kernel:?}: {lines:#?}");
    assert!(
        first.ends_with(": the formatting of this value panics: "),
        "{kernel:?}: {lines:#?}"
    );
    let begin = "during the report: panicked at kernel/src/scenario/display.rs:";
    assert!(second.starts_with(begin), "{kernel:?}: {lines:#?}");
    assert!(
        second.ends_with(": cannot be shown"),
        "{kernel:?}: {lines:#?}"
    );
    assert_eq!(*last, format!("first failure: {first}"), "{kernel:?}");
}

fn an_exception_while_a_panic_is_printed_is_one_line(kernel: Kernel) {
    let lines = lines(&boot(kernel, "fault-in-panic").expect(101));
    let [first, second, last] = &lines[..] else {
        panic!("{kernel:?}: not three lines: {lines:#?}");
    };
    assert!(
        first.ends_with(": the formatting of this value raises an exception: "),
        "{kernel:?}: {lines:#?}"
    );
    let begin = "during the report: fault on cpu 0 at 0xffff";
    assert!(second.starts_with(begin), "{kernel:?}: {lines:#?}");
    assert!(
        second.contains(": read of 0x0000000000000000, "),
        "{kernel:?}: {lines:#?}"
    );
    assert_eq!(*last, format!("first failure: {first}"), "{kernel:?}");
}

/// The report takes no lock, and ends the line that was begun.
fn a_panic_with_the_console_locked_is_reported(kernel: Kernel) {
    let ran = boot(kernel, "panic-in-print").expect(101);
    assert_eq!(
        lines(&ran)[0],
        "the formatting of this value panics: ",
        "{kernel:?}"
    );
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.ends_with(": cannot be shown"),
        "{}",
        report.panicked
    );
    let callers = "= panic
                   r <kernel::scenario::display::Panics as core::fmt::Display>::fmt
                   = kernel
                   r kernel::scenario::display::panic_in_print";
    trace::expect(kernel, &report, callers, "complete, ");
}

/// The walk's own reads raise exceptions, and become the reason of its end.
fn a_stack_that_cannot_be_read_ends_the_walk(kernel: Kernel) {
    let ran = boot(kernel, "unreadable-stack").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report
            .panicked
            .ends_with(": a page of the stack was unmapped"),
        "{}",
        report.panicked
    );
    let callers = "= panic
                   r+ kernel::scenario::unreadable::descend
                   ...";
    trace::expect_whole(
        kernel,
        &report,
        callers,
        "incomplete: the stack word at address 0xffff",
    );
}

/// A kernel may free the code of its initialization: the report reads none of it, and ends the list there.
fn code_that_cannot_be_read_ends_the_walk(kernel: Kernel) {
    let ran = boot(kernel, "unreadable-code").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report
            .panicked
            .ends_with(": a page of the code was unmapped"),
        "{}",
        report.panicked
    );
    let text = ran.text();
    // A range with a checksum is there in part only.
    let state = ", tables verified, code at 0x";
    assert!(text.contains(state), "{text}");
    let (_, missing) = text.split_once(state).expect(&text);
    let first = missing.lines().next().expect(&text);
    assert!(first.ends_with(" not compared"), "{text}");
    let callers = "= panic
                   r kernel::scenario::unreadable::unmap
                   ...";
    let end = "incomplete: the return address 0xffff";
    trace::expect_whole(kernel, &report, callers, end);
}

/// A watchpoint of a debugger does not end the report that reads what is watched.
fn a_watched_word_of_the_stack_is_read(kernel: Kernel) {
    let ran = boot(kernel, "watched-stack").expect(101);
    let report = Report::find(&ran.serial);
    let panicked = ": a watchpoint is set on a return address";
    assert!(report.panicked.ends_with(panicked), "{}", report.panicked);
    let callers = "= panic
                   r kernel::scenario::unreadable::watch
                   r kernel::scenario::unreadable::watched";
    trace::expect(kernel, &report, callers, "complete, ");
}

/// The report overflows the stack of what has failed, and gets another one. Then there is room for the list.
fn a_stack_without_room_for_the_report_has_its_callers(kernel: Kernel) {
    let ran = boot(kernel, "nearly-full").expect(101);
    let text = ran.text();
    assert!(text.contains(": the stack is nearly full\n"), "{text}");
    let again = "\nthe stack of the failed code was too small for the report; backtrace of the failed code:\n";
    let (_, again) = text.split_once(again).expect(&text);
    for part in [
        "kernel::scenario::overflow::fill",
        "kernel::scenario::overflow::nearly",
        "\nend of backtrace: complete, ",
    ] {
        assert!(again.contains(part), "{part}: {text}");
    }
}

/// A task that moves to another CPU in the middle of its report would cut the report off.
fn interrupts_are_masked_while_a_report_by_one_call_is_written(kernel: Kernel) {
    let lines = lines(&boot(kernel, "one-call-masked").expect(0));
    assert_eq!(lines[0], "interrupts are masked", "{kernel:?}");
    let last = lines.last().map(String::as_str);
    assert_eq!(last, Some("interrupts are not masked"), "{kernel:?}");
}

/// Those of the innermost level are always shown.
fn registers_of_outer_levels_are_shown_when_asked_for(kernel: Kernel) {
    let arch = kernel.arch;
    let scenario = "exception-in-handler";
    let ran = run(["--arch", arch.name(), "--registers", scenario]).expect(0);
    trace::expect_registers(kernel, &ran.text(), "   ----- breakpoint");
    let lines = |ran: &Ran| {
        ran.text()
            .lines()
            .filter(|line| line.starts_with("  "))
            .count()
    };
    let brief = boot(kernel, scenario).expect(101);
    assert!(lines(&brief) < lines(&ran), "{}", brief.text());
}

/// Somebody presses the button of a kernel that seems to hang, while it is still writing.
fn an_nmi_in_the_middle_of_a_report_does_not_break_it(kernel: Kernel) {
    let (cpus, press) = match kernel.arch {
        Arch::X86_64 => (2, "monitor nmi"),
        Arch::Aarch64 => (1, "monitor system_powerdown"),
    };
    let image = image(kernel);
    let data = std::fs::read(&image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    // Where the panicking CPU's own trace is written, but for its last line.
    let stop = format!("hbreak *{:#x}", symbols::pointer(&file, "AT_REPORT_END"));
    let boot = Boot {
        cpus,
        ..Boot::new(kernel.arch, &image, "panic")
    };
    let session = gdb::session(boot, [&*stop, "continue", "delete", press, "continue"]);
    session.expect_stop();
    let booted = session.booted;
    assert_eq!(booted.verdict, Verdict::Panicked, "{kernel:?}");
    let reports = Report::find_all(&booted.serial);
    let (first, others) = reports.split_first().expect("a report");
    assert!(first.panicked.starts_with("panicked at "), "{}", first.text);
    assert_eq!(others.len() as u32, cpus - 1, "{}", first.text);
    for report in &reports {
        report.expect_complete();
    }
    assert!(!first.text.contains("interrupted on cpu"), "{}", first.text);
}

/// The last moment before an interrupted task gives way: its frame has been moved, and it has not been left.
#[test]
fn an_nmi_while_a_task_is_preempted_is_traced() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let image = image(kernel);
    let data = std::fs::read(&image).expect("the image can be read");
    let file = object::File::parse(&*data).expect("the image is ELF");
    let stop = format!("break *{:#x}", symbols::pointer(&file, "AT_PREEMPTION"));
    let commands = [
        &*stop,
        "continue",
        "delete",
        "finish",
        "monitor system_powerdown",
        "continue",
    ];
    let session = gdb::session(Boot::new(kernel.arch, &image, "tasks"), commands);
    session.expect_stop();
    let booted = session.booted;
    let reports = Report::find_all(&booted.serial);
    let nmi = reports
        .iter()
        .find(|report| report.panicked.starts_with("interrupted on cpu 0 at "));
    let nmi = nmi.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&booted.serial)));
    nmi.expect_complete();
    assert!(nmi.names().contains(&"trap_preempted"), "{}", nmi.text);
}

/// An interrupt, or memory that cannot be read, must not make the overflow stack begin anew below a report that runs on it.
#[test]
fn nothing_breaks_a_report_on_the_overflow_stack() {
    let kernel = Kernel {
        arch: Arch::Aarch64,
        profile: Profile::Debug,
    };
    let image = image(kernel);
    let commands = [
        "break postmortem::walk::write_symbols",
        "continue",
        "delete",
        "monitor system_powerdown",
        "continue",
    ];
    let session = gdb::session(Boot::new(kernel.arch, &image, "double-fault"), commands);
    session.expect_stop();
    let booted = session.booted;
    assert_eq!(booted.verdict, Verdict::Panicked);
    let report = Report::find(&booted.serial);
    assert!(
        report.panicked.contains("no space left on the stack"),
        "{}",
        report.text
    );
    assert!(report.end.contains(": complete, "), "{}", report.text);
    assert!(
        !report.text.contains("during the report"),
        "{}",
        report.text
    );
}

/// Vectors that nothing sends but an instruction which names them.
#[test]
fn reserved_vectors_are_reported_too() {
    let kernel = Kernel {
        arch: Arch::X86_64,
        profile: Profile::Debug,
    };
    let image = image(kernel);
    for (vector, name) in [
        (9, "coprocessor segment overrun"),
        (15, "reserved exception 15"),
        (22, "reserved exception 22"),
        (27, "reserved exception 27"),
        (31, "reserved exception 31"),
    ] {
        // `int` instead of `ud2`: two bytes as well.
        let change = format!("set *(unsigned short*)$_ = {:#x}", vector << 8 | 0xcd);
        let commands = [
            "set language c",
            "break kernel::bad::x86_64::undefined",
            "continue",
            "delete",
            "find /b $pc, +64, 0x0f, 0x0b",
            &change,
            "continue",
        ];
        let session = gdb::session(Boot::new(kernel.arch, &image, "undefined"), commands);
        session.expect_stop();
        let booted = session.booted;
        let report = Report::find(&booted.serial);
        assert!(
            report.panicked.ends_with(&format!(": {name}")),
            "{}",
            report.text
        );
        // The debugger has changed the code in memory, and the report says so.
        let doubt =
            "end of backtrace: outermost function reached, from frame 0 on in doubt (the code at ";
        assert!(report.end.starts_with(doubt), "{}", report.text);
    }
}
