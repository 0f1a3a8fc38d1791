//! Hangs in assembly: in the vectors, in a report, and where a task or a CPU begins.

use object::Object;
use qemu::build::Kernel;
use qemu::machine::Arch;

use super::asked::{Asked, interrupted_after};
use super::lists::expect_count;
use super::stuck::{beginning_with, expect_without_stack, stuck};
use crate::support::built::image;
use crate::support::corrupt::{self, Instruction};
use crate::support::each::kernel_tests;
use crate::support::recursion;
use crate::support::symbols;
use crate::support::trace;

kernel_tests! { every:
    exceptions_in_the_vectors,
}
kernel_tests! { every_in_long:
    at_the_vector,
    on_the_stack_for_overflows,
    in_the_panic_handler,
    in_a_report,
    at_the_end_of_a_report,
    at_the_begin_of_a_task,
    beyond_paging_of_another_cpu,
}

/// Nothing has been saved yet but what the CPU saves itself: on AArch64 in registers.
fn at_the_vector(kernel: Kernel) {
    let vector = match kernel.arch {
        Arch::X86_64 => "exception_3",
        Arch::Aarch64 => "exception_0",
    };
    let asked = stuck(kernel, vector, "1", "breakpoint");
    expect_count(&asked, 1);
    let expected = format!(
        "p {vector}
        -- interrupted, stack boot
        p kernel::scenario::instructions::breakpoint"
    );
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

/// A recursion in a handler has filled the stack that the vector would use.
fn on_the_stack_for_overflows(kernel: Kernel) {
    let (vector, stack) = match kernel.arch {
        Arch::X86_64 => ("exception_8", "boot"),
        Arch::Aarch64 => ("exception_overflow_4", "exception"),
    };
    let asked = stuck(kernel, vector, "1", "double-fault");
    expect_count(&asked, 1);
    let mut report = asked.reports[0].clone();
    let (vectors, words) = (report.frames.remove(0), report.words.remove(0));
    assert_eq!(vectors.name.as_deref(), Some(vector), "{}", asked.text);
    assert_eq!(words, (1, format!("interrupted, stack {stack}")));
    for (before, _) in &mut report.words {
        *before -= 1;
    }
    let (report, recursion) = recursion::from_recursion(report);
    let handler = "kernel::scenario::nested::no_stack_for_handler";
    let trace = format!(
        "{recursion}
         r~ {handler}::{{closure#0}}
         = trap
         -- interrupted, stack boot
         p {handler}"
    );
    trace::expect(kernel, &report, &trace, "complete, ");
}

fn in_the_panic_handler(kernel: Kernel) {
    let asked = stuck(kernel, "__rustc::rust_begin_unwind", "1", "early-panic");
    expect_count(&asked, 1);
    let expected = "= panic
        r kernel::scenario::early::panic
        r~ kernel::scenario::early::run";
    trace::expect(kernel, &asked.reports[0], expected, "complete, ");
}

/// It reads the first word of a stack.
fn in_a_report(kernel: Kernel) {
    let read = ["postmortem_read"];
    // Before that, it checks all tables.
    let asked = beginning_with(kernel, &read, Instruction::Stay, "20", ["1", "early-panic"]);
    expect_in_report(kernel, &asked, "postmortem_read");
}

/// The trace is there, but for its last line.
fn at_the_end_of_a_report(kernel: Kernel) {
    let end = ["*AT_REPORT_END"];
    let asked = beginning_with(kernel, &end, Instruction::Stay, "20", ["1", "early-panic"]);
    expect_in_report(kernel, &asked, "unwind::report::lines::write_end");
}

/// One CPU is in this function of a report of the panic before the kernel's console.
fn expect_in_report(kernel: Kernel, asked: &Asked, function: &str) {
    expect_count(asked, 1);
    let expected = format!(
        "p {function}
        = kernel
        r __rustc::rust_begin_unwind
        = kernel
        r kernel::scenario::early::panic
        r~ kernel::scenario::early::run"
    );
    trace::expect(kernel, &asked.reports[0], &expected, "complete, ");
}

/// The first of five tasks has its stack and nothing else; it has not noted yet that it has come. The others have not even that.
fn at_the_begin_of_a_task(kernel: Kernel) {
    let asked = stuck(kernel, "task_start", "1", "tasks");
    let [begins, main, ready @ ..] = &asked.reports[..] else {
        panic!("{}", asked.text);
    };
    let says = ", stack task visitor, interrupts masked";
    assert!(begins.panicked.ends_with(says), "{}", begins.panicked);
    trace::expect_whole(kernel, begins, "p task_begin", "complete, ");
    assert_eq!(main.panicked, "task 0 main: ready, stack boot");
    let waits = "= switch\nr~ kernel::scenario::tasks::run";
    trace::expect(kernel, main, waits, "complete, ");
    let names = ["sleeper", "brief", "parent", "busy"];
    for ((number, report), name) in ready.iter().enumerate().zip(names) {
        let says = format!("task {} {name}: ready, stack task {name}", 9 + number);
        assert_eq!(report.panicked, says);
    }
    assert_eq!(ready.len(), 4, "{}", asked.text);
}

/// On the side of paging where no other test is: on x86-64 before, on AArch64 behind.
fn beyond_paging_of_another_cpu(kernel: Kernel) {
    match kernel.arch {
        Arch::X86_64 => {
            let asked = stuck(kernel, "start_protected", "2", "hang-masked");
            expect_count(&asked, 1);
            asked.reports[0].expect_complete();
            let image = image(kernel);
            let data = std::fs::read(image).expect("the image can be read");
            let file = object::File::parse(&*data).expect("the image is ELF");
            assert!(file.is_64());
            let at = symbols::address(&file, "start_protected");
            let says = format!("\ncpu 1 is not in 64-bit mode, at {at:#018x}, interrupts masked\n");
            assert!(asked.text.contains(&says), "{}", asked.text);
        }
        Arch::Aarch64 => {
            let asked = stuck(kernel, "start_high", "2", "hang-masked");
            expect_count(&asked, 2);
            asked.reports[0].expect_complete();
            expect_without_stack(&asked.reports[1], "start_high");
        }
    }
}

/// Each exception raises the next one. On x86-64 they fill stacks, until there is no room for one of them: then the CPU begins with
/// the stack for that at its top again, for ever, and nobody knows any more what came first.
fn exceptions_in_the_vectors(kernel: Kernel) {
    let vectors = match kernel.arch {
        Arch::X86_64 => ["exception_6", "exception_8"],
        Arch::Aarch64 => ["exception_0", "exception_4"],
    };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let undefined = Instruction::Undefined;
    let copy = corrupt::beginning_with(&image(kernel), folder.path(), &vectors, undefined);
    // By its own clock it would take minutes: an exception is one instruction.
    let asked = interrupted_after("scenario undefined", &copy, "undefined", 1);
    expect_count(&asked, 1);
    let report = &asked.reports[0];
    let stack = match kernel.arch {
        Arch::X86_64 => "double fault",
        Arch::Aarch64 => "exception",
    };
    let says = format!(", stack {stack}, interrupts masked");
    assert!(report.panicked.ends_with(&says), "{}", report.panicked);
    let end = "end of backtrace: incomplete: ";
    assert!(report.end.starts_with(end), "{}", report.end);
    let frames = report.frames.iter().take_while(|frame| frame.letter != '?');
    for frame in frames {
        let name = frame.name.as_deref();
        let is_vector = name.is_some_and(|name| vectors.contains(&name));
        assert!(is_vector, "{name:?} in {}", asked.text);
    }
}
