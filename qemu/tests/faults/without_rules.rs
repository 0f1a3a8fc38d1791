//! Below functions that no rules lead out of, by what a frame pointer or a scan finds.

use super::{Expected, UNDEFINED, complete};
use crate::support::each::kernel_tests;
use qemu::build::Kernel;

kernel_tests! { every_and_both_plain:
    below_assembly_with_rules,
    below_assembly_without_rules,
    below_assembly_beyond_proof,
    an_overwritten_return_address,
    an_overwritten_frame_pointer,
    a_stray_stack_pointer,
    a_stray_stack_pointer_in_a_handler,
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
            "outermost function reached, from frame 2 on by frame pointer (no unwind row for address 0xffffffff80",
            "incomplete: the unwind row needs the stack pointer, whose value is unknown, from frame 2 on by frame pointer (no \
             unwind row for address 0xffff00004",
        ],
    }
    .check(kernel);
}

fn an_overwritten_return_address(kernel: Kernel) {
    let trace = "p bad_first
                 r bad_return_address
                 ...";
    let end = "incomplete: the return address 0x4141414141414141 is outside all known code, from frame 2 on by scanning, ";
    Expected {
        scenario: "damaged-return-address",
        words: UNDEFINED,
        trace: [trace; 2],
        end: [end; 2],
    }
    .check(kernel);
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
            "double fault, last page-fault address 0x0000000043434338",
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
             outside all stacks that the backtrace may enter), ",
            "incomplete: the unwind row needs the stack pointer, whose value is unknown, from frame 1 on by frame pointer (the \
             stack pointer 0x0000000043434340 is outside all stacks that the backtrace may enter), ",
        ],
    }
    .check(kernel);
}

/// The same in a handler: on AArch64 by the stack pointer of exceptions, which no exception can use then.
fn a_stray_stack_pointer_in_a_handler(kernel: Kernel) {
    Expected {
        scenario: "stray-in-handler",
        words: [
            "double fault, last page-fault address 0x000000004343c338",
            "no space left on the stack: undefined instruction",
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
             outside all stacks that the backtrace may enter), ",
            "incomplete: the unwind row needs the stack pointer, whose value is unknown, from frame 1 on by frame pointer (the \
             stack pointer 0x000000004343c340 is outside all stacks that the backtrace may enter), ",
        ],
    }
    .check(kernel);
}
