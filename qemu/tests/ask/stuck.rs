//! Hangs in assembly: kernels in which a function begins with a jump to itself.

use qemu::build::Kernel;
use qemu::machine::Arch;

use super::asked::Asked;
use crate::support::built::image;
use crate::support::corrupt::{self, Instruction};
use crate::support::each::kernel_tests;
use crate::support::report::Report;
use crate::support::runner::run;
use crate::support::trace;

kernel_tests! { every:
    before_paging,
    in_the_trap_entry,
    in_user_mode,
}
kernel_tests! { every_in_long:
    at_the_kernels_entry,
    at_the_entry_of_another_cpu,
    between_two_tasks,
}

/// Boots a copy of the kernel that is stuck at the beginning of this function, for a second of the machine's own time.
#[track_caller]
pub fn stuck(kernel: Kernel, function: &str, cpus: &str, scenario: &str) -> Asked {
    beginning_with(
        kernel,
        &[function],
        Instruction::Stay,
        "1",
        [cpus, scenario],
    )
}

/// Boots a copy of the kernel in which these functions begin with this instruction, for so many seconds of the machine's own
/// time.
#[track_caller]
pub fn beginning_with(
    kernel: Kernel,
    functions: &[&str],
    instruction: Instruction,
    seconds: &str,
    [cpus, scenario]: [&str; 2],
) -> Asked {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let copy = corrupt::beginning_with(&image(kernel), folder.path(), functions, instruction);
    let copy = copy.to_str().expect("a path in UTF-8");
    let limit = ["--guest-timeout", seconds, "--cpus", cpus];
    Asked::of(run([&limit[..], &["--image", copy, scenario]].concat()).expect(124))
}

/// Fails unless the CPU is at this function, before it has a stack, which ends the trace.
#[track_caller]
pub fn expect_without_stack(report: &Report, function: &str) {
    let says = report.panicked.contains(", in no stack");
    assert!(says, "{}", report.panicked);
    assert_eq!(report.names(), [function], "{}", report.text);
    assert!(report.text.contains("+0x0/"), "{}", report.text);
    let end = "end of backtrace: incomplete: the stack pointer ";
    assert!(report.end.starts_with(end), "{}", report.end);
    let end = " is outside all stacks that the backtrace may enter, 1 frames";
    assert!(report.end.ends_with(end), "{}", report.end);
}

/// Nothing of the kernel's is there yet, not even 64-bit mode on x86-64.
fn before_paging(kernel: Kernel) {
    match kernel.arch {
        Arch::X86_64 => {
            let asked = stuck(kernel, "pvh_entry", "1", "ok");
            let says = "\ncpu 0 is not in 64-bit mode, at 0x0000000000100000, interrupts masked\n";
            assert!(asked.text.contains(says), "{}", asked.text);
            assert!(asked.reports.is_empty(), "{}", asked.text);
        }
        Arch::Aarch64 => {
            let asked = stuck(kernel, "boot_entry", "1", "ok");
            assert_eq!(asked.reports.len(), 1, "{}", asked.text);
            expect_without_stack(&asked.reports[0], "boot_entry");
        }
    }
}

fn at_the_kernels_entry(kernel: Kernel) {
    let asked = stuck(kernel, "kernel_entry", "1", "ok");
    assert_eq!(asked.reports.len(), 1, "{}", asked.text);
    expect_without_stack(&asked.reports[0], "kernel_entry");
}

/// The first CPU waits for it, or goes on without it.
fn at_the_entry_of_another_cpu(kernel: Kernel) {
    let asked = stuck(kernel, "start_entry", "2", "hang-masked");
    let [first, other] = &asked.reports[..] else {
        panic!("{}", asked.text);
    };
    first.expect_complete();
    assert_eq!(first.names().last(), Some(&"kernel_entry"));
    expect_without_stack(other, "start_entry");
}

/// Nothing has been saved yet but what the CPU saves itself.
fn in_the_trap_entry(kernel: Kernel) {
    let asked = stuck(kernel, "trap_entry", "1", "breakpoint");
    assert_eq!(asked.reports.len(), 1, "{}", asked.text);
    let expected = "p trap_entry
        -- interrupted, stack boot
        p kernel::scenario::instructions::breakpoint";
    trace::expect(kernel, &asked.reports[0], expected, "complete, ");
}

/// The image's own code is not there: one line says where the CPU is, and no trace claims to know more.
fn in_user_mode(kernel: Kernel) {
    let asked = stuck(kernel, "user_call", "1", "user-call");
    let says = "\ncpu 0 is in user mode, at 0x0000000000400000\n";
    assert!(asked.text.contains(says), "{}", asked.text);
    assert!(asked.reports.is_empty(), "{}", asked.text);
}

/// One task has been left, and no other is there yet: five have never run.
fn between_two_tasks(kernel: Kernel) {
    let asked = stuck(kernel, "task_switch", "1", "tasks");
    let [leaves, others @ ..] = &asked.reports[..] else {
        panic!("{}", asked.text);
    };
    let scenario = "r~ kernel::scenario::tasks::run";
    let expected = format!("= switch\n{scenario}");
    trace::expect(kernel, leaves, &expected, "complete, ");
    let [next, ready @ ..] = others else {
        panic!("{}", asked.text);
    };
    let says = "task 8 visitor: is about to run, stack task visitor";
    assert_eq!(next.panicked, says);
    let names = ["sleeper", "brief", "parent", "busy"];
    for ((number, report), name) in ready.iter().enumerate().zip(names) {
        let says = format!("task {} {name}: ready, stack task {name}", 9 + number);
        assert_eq!(report.panicked, says);
    }
    assert_eq!(ready.len(), 4, "{}", asked.text);
    for report in others {
        report.expect_complete();
        assert_eq!(report.names(), ["task_switch", "task_begin"]);
    }
}
