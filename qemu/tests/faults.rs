//! Every exception, on both architectures, in debug and release, and without unwind tables: its words, and the names, kinds
//! and boundaries of the whole trace.

mod support;

use qemu::build::{Kernel, Profile};
use qemu::machine::Arch;
use support::built::image;
use support::each::kernel_tests;
use support::report::Report;
use support::runner::{Ran, run};
use support::{recursion, trace};

kernel_tests! { every_and_both_plain:
    null_read,
    write_to_code,
    misaligned,
    not_canonical,
    undefined,
    null_call,
    wild_jump,
    call_data,
    at_the_first_instruction,
    before_the_prologue,
    in_a_prologue,
    in_an_epilogue,
    after_a_tail_call,
    called_by_a_last_instruction,
    a_frame_of_variable_size,
    a_realigned_frame,
    below_assembly_with_rules,
    below_assembly_without_rules,
    below_assembly_beyond_proof,
    an_overwritten_return_address,
    an_overwritten_frame_pointer,
    a_stray_stack_pointer,
    a_stray_stack_pointer_in_a_handler,
    an_exception_in_a_handler,
    a_panic_in_a_handler,
    a_recursion_that_fills_the_stack,
    a_frame_that_is_bigger_than_the_stack,
    an_exception_with_no_room_for_it,
    a_division_by_zero,
    a_breakpoint_returns,
    the_code_is_shown,
}

fn boot(kernel: Kernel, scenario: &str) -> Ran {
    run([
        "--image".as_ref(),
        image(kernel).as_os_str(),
        scenario.as_ref(),
    ])
}

/// What is expected of a scenario. Words and ends differ between architectures: x86_64's first.
struct Expected {
    scenario: &'static str,
    /// How the words after the first line's address begin.
    words: [&'static str; 2],
    trace: [&'static str; 2],
    end: [&'static str; 2],
}

impl Expected {
    /// Boots the scenario.
    #[track_caller]
    fn check(&self, kernel: Kernel) {
        let ran = boot(kernel, self.scenario).expect(101);
        let report = Report::find(&ran.serial);
        let of = match kernel.arch {
            Arch::X86_64 => 0,
            Arch::Aarch64 => 1,
        };
        let at = report.frames[0].address;
        let first = format!("fault on cpu 0 at {at:#018x}: {}", self.words[of]);
        assert!(
            report.panicked.starts_with(&first),
            "{kernel:?}: no {first:?} in:\n{}",
            report.text
        );
        trace::expect(kernel, &report, self.trace[of], self.end[of]);
        let last = report.text.lines().last();
        let summary = format!("first failure: {}", report.panicked);
        assert_eq!(last, Some(&*summary), "{kernel:?}: the last line");
    }
}

const COMPLETE: [&str; 2] = ["complete, "; 2];

/// An exception in one function of the kernel's, from which everything is known.
#[track_caller]
fn complete(kernel: Kernel, scenario: &'static str, words: [&'static str; 2], trace: &'static str) {
    Expected {
        scenario,
        words,
        trace: [trace; 2],
        end: COMPLETE,
    }
    .check(kernel);
}

fn null_read(kernel: Kernel) {
    complete(
        kernel,
        "null-read",
        [
            "page fault: read of 0x0000000000000000, not mapped",
            "data abort: read of 0x0000000000000000, translation fault level 0",
        ],
        "p kernel::scenario::access::null_read",
    );
}

fn write_to_code(kernel: Kernel) {
    complete(
        kernel,
        "write-to-code",
        [
            "page fault: write to 0xffffffff80",
            "data abort: write to 0xffff0000402",
        ],
        "p kernel::scenario::access::write_to_code",
    );
}

fn misaligned(kernel: Kernel) {
    complete(
        kernel,
        "misaligned",
        ["general protection", "data abort: read of 0xffff0000"],
        "p kernel::scenario::access::misaligned",
    );
}

fn not_canonical(kernel: Kernel) {
    complete(
        kernel,
        "not-canonical",
        [
            "general protection",
            "data abort: read of 0x123456789abcdef0, translation fault level 0",
        ],
        "p kernel::scenario::access::not_canonical",
    );
}

const UNDEFINED: [&str; 2] = ["invalid opcode", "undefined instruction"];

fn undefined(kernel: Kernel) {
    complete(
        kernel,
        "undefined",
        UNDEFINED,
        "p kernel::scenario::instructions::undefined",
    );
}

/// A call or a jump to where no code is: its frame has no name, and its caller is where the call left it.
#[track_caller]
fn no_code(
    kernel: Kernel,
    scenario: &'static str,
    words: [&'static str; 2],
    trace: &'static str,
    end: &'static str,
) {
    Expected {
        scenario,
        words,
        trace: [trace; 2],
        end: [end; 2],
    }
    .check(kernel);
}

fn null_call(kernel: Kernel) {
    no_code(
        kernel,
        "null-call",
        [
            "page fault: execution of 0x0000000000000000, not mapped",
            "instruction abort: execution of 0x0000000000000000, translation fault level 0",
        ],
        "p -
         l kernel::scenario::access::null_call",
        "outermost function reached, from frame 1 on by link register (the program counter is null), ",
    );
}

fn wild_jump(kernel: Kernel) {
    no_code(
        kernel,
        "wild-jump",
        [
            "page fault: execution of 0x00000000dead0000, not mapped",
            "instruction abort: execution of 0x00000000dead0000, translation fault level 0",
        ],
        "p -
         l kernel::scenario::access::wild_jump",
        "outermost function reached, from frame 1 on by link register (the program counter 0x00000000dead0000 is not in \
         any code), ",
    );
}

fn call_data(kernel: Kernel) {
    no_code(
        kernel,
        "call-data",
        [
            "page fault: execution of 0xffffffff80",
            "instruction abort: execution of 0xffff0000402",
        ],
        "p -
         l kernel::scenario::access::call_data",
        "outermost function reached, from frame 1 on by link register (the program counter 0xffff",
    );
}

fn at_the_first_instruction(kernel: Kernel) {
    complete(
        kernel,
        "first-instruction",
        UNDEFINED,
        "p bad_first
         r kernel::scenario::places::first_instruction",
    );
}

fn before_the_prologue(kernel: Kernel) {
    complete(
        kernel,
        "leaf",
        UNDEFINED,
        "p bad_leaf
         r kernel::scenario::places::leaf",
    );
}

fn in_a_prologue(kernel: Kernel) {
    complete(
        kernel,
        "prologue",
        UNDEFINED,
        "p bad_prologue
         r kernel::scenario::places::prologue",
    );
}

fn in_an_epilogue(kernel: Kernel) {
    complete(
        kernel,
        "epilogue",
        UNDEFINED,
        "p bad_epilogue
         r kernel::scenario::places::epilogue",
    );
}

/// The function that ended with a jump has no frame any more, and is named all the same: by the call.
fn after_a_tail_call(kernel: Kernel) {
    complete(
        kernel,
        "tail-call",
        UNDEFINED,
        "p bad_first
         r kernel::scenario::places::tail_call",
    );
    if kernel.profile != Profile::Plain {
        let ran = boot(kernel, "tail-call").expect(101);
        let report = Report::find(&ran.serial);
        let said: Vec<_> = report
            .frames
            .iter()
            .map(|frame| frame.tail_called_by.as_deref())
            .collect();
        assert_eq!(
            said[0],
            Some("bad_tail_call"),
            "{kernel:?}: {}",
            report.text
        );
        // A compiler may have made others, of functions that it did not make part of their callers.
        if kernel.profile == Profile::Debug {
            assert!(said[1..].iter().all(Option::is_none), "{}", report.text);
        }
    }
}

fn called_by_a_last_instruction(kernel: Kernel) {
    complete(
        kernel,
        "last-call",
        UNDEFINED,
        "p bad_first
         r bad_last_call
         r kernel::scenario::places::last_call",
    );
}

fn a_frame_of_variable_size(kernel: Kernel) {
    complete(
        kernel,
        "variable-frame",
        UNDEFINED,
        "p bad_first
         r bad_variable_frame
         r kernel::scenario::places::variable_frame",
    );
}

fn a_realigned_frame(kernel: Kernel) {
    complete(
        kernel,
        "realigned-frame",
        UNDEFINED,
        "p kernel::scenario::places::realigned_frame",
    );
}

fn below_assembly_with_rules(kernel: Kernel) {
    complete(
        kernel,
        "asm-with-rules",
        UNDEFINED,
        "p kernel::scenario::places::fail
         r with_rules
         r kernel::scenario::places::asm_with_rules",
    );
}

/// The link finds out by the code.
fn below_assembly_without_rules(kernel: Kernel) {
    complete(
        kernel,
        "asm-without-rules",
        UNDEFINED,
        "p kernel::scenario::places::fail
         r without_rules
         r kernel::scenario::places::asm_without_rules",
    );
}

/// What the code does not tell either. On AArch64 a frame record tells the caller, but not its stack pointer, which the
/// caller's rules count from.
fn below_assembly_beyond_proof(kernel: Kernel) {
    Expected {
        scenario: "asm-beyond-proof",
        words: UNDEFINED,
        trace: [
            "p kernel::scenario::places::fail
             r stack_from_memory
             f kernel::scenario::places::asm_beyond_proof",
            "p kernel::scenario::places::fail
             r stack_from_memory
             f kernel::scenario::places::asm_beyond_proof
             ...",
        ],
        end: [
            "outermost function reached, from frame 2 on by frame pointer (no row for 0xffffffff80",
            "incomplete: a rule needs the stack pointer, which is not known here, from frame 2 on by frame pointer (no \
             row for 0xffff0000402",
        ],
    }
    .check(kernel);
}

fn an_overwritten_return_address(kernel: Kernel) {
    no_code(
        kernel,
        "damaged-return-address",
        UNDEFINED,
        "p bad_first
         r bad_return_address
         ...",
        "incomplete: the return address 0x4141414141414141 is not in any code, from frame 2 on by scanning, ",
    );
}

/// The function's rules count from the frame pointer, which its code overwrites; but the stack pointer still tells, and the
/// link has seen that.
fn an_overwritten_frame_pointer(kernel: Kernel) {
    complete(
        kernel,
        "damaged-frame-pointer",
        UNDEFINED,
        "p bad_first
         r bad_frame_pointer
         r kernel::scenario::places::damaged_frame_pointer",
    );
}

/// x86_64 pushes on the stack at hand, so that this is a double fault.
fn a_stray_stack_pointer(kernel: Kernel) {
    Expected {
        scenario: "stray-stack-pointer",
        words: [
            "double fault, last page fault at 0x0000000043434338",
            "undefined instruction",
        ],
        trace: [
            "p bad_stack_pointer
             f kernel::scenario::places::stray_stack_pointer",
            "p bad_stack_pointer
             f kernel::scenario::places::stray_stack_pointer
             ...",
        ],
        end: [
            "outermost function reached, from frame 1 on by frame pointer (the stack pointer 0x0000000043434340 is \
             outside every stack), ",
            "incomplete: a rule needs the stack pointer, which is not known here, from frame 1 on by frame pointer (the \
             stack pointer 0x0000000043434340 is outside every stack), ",
        ],
    }
    .check(kernel);
}

/// The same in a handler: on AArch64 by the stack pointer of exceptions, which no exception can use then.
fn a_stray_stack_pointer_in_a_handler(kernel: Kernel) {
    Expected {
        scenario: "stray-in-handler",
        words: [
            "double fault, last page fault at 0x000000004343c338",
            "no room on the stack: undefined instruction",
        ],
        trace: [
            "p bad_stack_pointer
             f kernel::scenario::nested::lose_stack_pointer
             = trap
             -- breakpoint, stack boot
             p kernel::scenario::nested::stray_stack_pointer",
            "p bad_stack_pointer
             f kernel::scenario::nested::lose_stack_pointer
             ...",
        ],
        end: [
            "outermost function reached, from frame 1 on by frame pointer (the stack pointer 0x000000004343c340 is \
             outside every stack), ",
            "incomplete: a rule needs the stack pointer, which is not known here, from frame 1 on by frame pointer (the \
             stack pointer 0x000000004343c340 is outside every stack), ",
        ],
    }
    .check(kernel);
}

/// Trap code, called by nobody, is between the handler and what it interrupted.
fn an_exception_in_a_handler(kernel: Kernel) {
    Expected {
        scenario: "exception-in-handler",
        words: [
            "page fault: read of 0x0000000000000000, not mapped",
            "data abort: read of 0x0000000000000000, translation fault level 0",
        ],
        trace: [
            "p kernel::scenario::nested::handler
             r~ kernel::scenario::nested::exception_in_handler::{closure#0}
             = trap
             -- breakpoint, stack boot
             p kernel::scenario::nested::exception_in_handler",
            "p kernel::scenario::nested::handler
             r~ kernel::scenario::nested::exception_in_handler::{closure#0}
             = trap
             -- breakpoint 0x1, stack boot
             p kernel::scenario::nested::exception_in_handler",
        ],
        end: COMPLETE,
    }
    .check(kernel);
}

fn a_panic_in_a_handler(kernel: Kernel) {
    let ran = boot(kernel, "panic-in-handler").expect(101);
    let report = Report::find(&ran.serial);
    let boundary = match kernel.arch {
        Arch::X86_64 => "breakpoint",
        Arch::Aarch64 => "breakpoint 0x1",
    };
    let handler = "kernel::scenario::nested::panic_in_handler";
    let trace = format!(
        "= panic
         r kernel::scenario::nested::index
         r~ {handler}::{{closure#0}}
         = trap
         -- {boundary}, stack boot
         p {handler}"
    );
    trace::expect(kernel, &report, &trace, "complete, ");
}

fn a_recursion_that_fills_the_stack(kernel: Kernel) {
    let ran = boot(kernel, "stack-overflow").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.ends_with(", guard page of stack boot"),
        "{kernel:?}: {}",
        report.panicked
    );
    recursion::expect_ends(&report);
    let (report, recursion) = recursion::from_recursion(report);
    let trace = format!("{recursion}\nr kernel::scenario::overflow::recursion");
    trace::expect(kernel, &report, &trace, "complete, ");
}

fn a_frame_that_is_bigger_than_the_stack(kernel: Kernel) {
    let ran = boot(kernel, "huge-frame").expect(101);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.ends_with(", guard page of stack boot"),
        "{kernel:?}: {}",
        report.panicked
    );
    let trace = "p kernel::scenario::overflow::huge
                 r kernel::scenario::overflow::huge_frame";
    trace::expect(kernel, &report, trace, "complete, ");
}

/// The handler of a breakpoint fills the stack it runs on; the report comes from a third.
fn an_exception_with_no_room_for_it(kernel: Kernel) {
    let ran = boot(kernel, "double-fault").expect(101);
    let report = Report::find(&ran.serial);
    let (words, stack, boundary) = match kernel.arch {
        Arch::X86_64 => ("double fault, last page fault at ", "boot", "breakpoint"),
        Arch::Aarch64 => (
            "no room on the stack: data abort: write to ",
            "exception",
            "breakpoint 0x1",
        ),
    };
    assert!(report.panicked.contains(words), "{}", report.panicked);
    let guard = format!(", guard page of stack {stack}");
    assert!(report.panicked.ends_with(&guard), "{}", report.panicked);
    recursion::expect_ends(&report);
    let (report, recursion) = recursion::from_recursion(report);
    let handler = "kernel::scenario::nested::no_stack_for_handler";
    let trace = format!(
        "{recursion}
         r~ {handler}::{{closure#0}}
         = trap
         -- {boundary}, stack boot
         p {handler}"
    );
    trace::expect(kernel, &report, &trace, "complete, ");
}

fn a_division_by_zero(kernel: Kernel) {
    let ran = boot(kernel, "divide").expect(101);
    let report = Report::find(&ran.serial);
    let (words, trace) = match kernel.arch {
        Arch::X86_64 => (": divide error", "p kernel::scenario::instructions::divide"),
        // No exception: a panic.
        Arch::Aarch64 => (
            ": attempt to divide by zero",
            "= panic
             r kernel::scenario::instructions::divide",
        ),
    };
    assert!(report.panicked.ends_with(words), "{}", report.panicked);
    trace::expect(kernel, &report, trace, "complete, ");
}

/// It is reported like the others, and then the program goes on as if nothing had been.
fn a_breakpoint_returns(kernel: Kernel) {
    let ran = boot(kernel, "breakpoint").expect(0);
    let report = Report::find(&ran.serial);
    assert!(
        report.panicked.starts_with("breakpoint on cpu 0 at 0xffff"),
        "{}",
        report.panicked
    );
    let trace = "p kernel::scenario::instructions::breakpoint";
    trace::expect(kernel, &report, trace, "complete, ");
    let last = report.text.lines().last();
    assert_eq!(last, Some("went on after the breakpoint, with 0x5eed"));
}

/// The bytes around the program counter, with those of the failing instruction marked.
fn the_code_is_shown(kernel: Kernel) {
    let ran = boot(kernel, "undefined").expect(101);
    let marked = match kernel.arch {
        Arch::X86_64 => " <0f> 0b ",
        Arch::Aarch64 => " <00000000> ",
    };
    let text = ran.text();
    let code = text.lines().find(|line| line.starts_with("code: "));
    let code = code.unwrap_or_else(|| panic!("no code in:\n{text}"));
    assert!(code.contains(marked), "{kernel:?}: {code}");
}
