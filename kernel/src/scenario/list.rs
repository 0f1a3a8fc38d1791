//! The scenarios. Plain data without imports: the kernel and the program that boots it both read this file.

/// A way for the kernel to run, chosen by its name on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The word on the command line.
    pub name: &'static str,
    /// What happens, in one line.
    pub about: &'static str,
    /// How it ends.
    pub outcome: Outcome,
}

/// How a scenario is meant to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With success.
    Succeeds,
    /// With a report of a panic or of an exception, every caller in it.
    Panics,
    /// With a report that cannot vouch for every caller, and says why.
    PanicsInDoubt,
    /// With success, once it has reset the machine.
    SucceedsAfterReset,
    /// With an error while another one is reported: a line of it, and no more.
    FailsToReport,
    /// As somebody at the serial line wants it to.
    Interactive,
}

/// All scenarios. The first is the default.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "panic",
        about: "an index out of bounds, in a closure's callee, in a trait object's method, in a generic function",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "heap-panic",
        about: "the heap is exhausted",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "deep",
        about: "a panic in a recursion of 200 calls",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "ok",
        about: "prints a line and ends with success",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "cpus",
        about: "every CPU prints a line (see --cpus)",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "null-read",
        about: "a read through a null pointer",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "null-call",
        about: "a call through a null pointer",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "wild-jump",
        about: "a jump to where no code is",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "write-to-code",
        about: "a write to read-only memory",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "call-data",
        about: "a call of memory that is not executable",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "misaligned",
        about: "a misaligned access that must be aligned",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "not-canonical",
        about: "a read from an address that cannot be one: general protection on x86_64",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "undefined",
        about: "an undefined instruction",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "divide",
        about: "a division by zero: an exception on x86_64, a panic on aarch64",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "breakpoint",
        about: "a breakpoint, which is reported and returns",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "first-instruction",
        about: "an exception at the first instruction of a function",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "leaf",
        about: "an exception in a leaf, before its prologue",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "prologue",
        about: "an exception in the middle of a prologue",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "epilogue",
        about: "an exception in an epilogue, after the frame is gone",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "tail-call",
        about: "an exception right after a tail call",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "last-call",
        about: "an exception in a function that never returns, called by another's last instruction",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "variable-frame",
        about: "an exception below a function with a frame of variable size",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "realigned-frame",
        about: "an exception in a function that aligns its stack",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "asm-with-rules",
        about: "an exception below assembly with rules for unwinders",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "asm-without-rules",
        about: "an exception below assembly without rules",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "asm-beyond-proof",
        about: "an exception below assembly without rules that takes its stack pointer from memory",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "late-save",
        about: "a read from where nothing is, before the return address is saved where the compiler says it is",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "lies",
        about: "breakpoints where the rules for unwinders contradict the code, each of which is reported",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "damaged-return-address",
        about: "a return address was overwritten",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "damaged-frame-pointer",
        about: "a frame pointer was overwritten",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "stray-stack-pointer",
        about: "the stack pointer is in no stack",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "exception-in-handler",
        about: "an exception inside the handler of another one",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "panic-in-handler",
        about: "a panic in the handler of an exception",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "double-fault",
        about: "an exception with no room on the stack for it",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "stack-overflow",
        about: "a recursion fills the stack",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "huge-frame",
        about: "one frame is bigger than the stack",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "monitor",
        about: "takes commands from the serial line: `help` lists them",
        outcome: Outcome::Interactive,
    },
    Scenario {
        name: "panic-in-panic",
        about: "a panic whose message panics",
        outcome: Outcome::FailsToReport,
    },
    Scenario {
        name: "fault-in-panic",
        about: "a panic whose message raises an exception",
        outcome: Outcome::FailsToReport,
    },
    Scenario {
        name: "panic-in-print",
        about: "a panic of somebody who holds the console's lock",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "early-panic",
        about: "a panic before the console, the page tables and the heap are set up",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "early-exception",
        about: "an exception at the same time",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "no-heap",
        about: "an allocation before there is a heap",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "unreadable-stack",
        about: "the memory of a stack is gone",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "epitaph",
        about: "a panic that resets the machine; the next boot tells of it",
        outcome: Outcome::SucceedsAfterReset,
    },
    Scenario {
        name: "epitaph-damaged",
        about: "a reset after which nothing can be told: a checksum is wrong",
        outcome: Outcome::SucceedsAfterReset,
    },
    Scenario {
        name: "stray-in-handler",
        about: "the stack pointer of an exception's handler is in no stack",
        outcome: Outcome::PanicsInDoubt,
    },
    Scenario {
        name: "nmi",
        about: "an NMI in a tight loop, after which all goes on; FIQ on aarch64",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "console-held",
        about: "a panic on a CPU while another one holds the console",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "two-panics",
        about: "a panic on two CPUs at the same time",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "two-breakpoints",
        about: "a breakpoint on two CPUs at the same time, which both go on",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "silent-cpu",
        about: "a panic while another CPU does not answer",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "hang",
        about: "a CPU hangs with interrupts masked and a lock held, which another CPU's watchdog finds",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "tasks",
        about: "several tasks, each stopped somewhere else, one of them by the timer, and a report of all of them",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "busy",
        about: "every CPU works, and is interrupted; with --cpus 4 and QEMU's `nmi` or power button a trace of each",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "panic-in-timer",
        about: "a panic in the handler of a timer interrupt",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "interrupt-in-interrupt",
        about: "a timer interrupt in the handler of another one",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "interrupted-places",
        about: "timer interrupts where a stack walk is hard, each of which is reported",
        outcome: Outcome::Succeeds,
    },
    Scenario {
        name: "deadlock",
        about: "two tasks wait for each other's locks",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "lock-twice",
        about: "a task waits for a lock that it holds",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "panic-in-task",
        about: "a panic in a task that another one waits for",
        outcome: Outcome::Panics,
    },
    Scenario {
        name: "task-overflow",
        about: "a recursion fills the stack of a task",
        outcome: Outcome::Panics,
    },
];

#[cfg_attr(
    target_os = "none",
    expect(dead_code, reason = "the machine has them already")
)]
/// Fewest CPUs that a scenario needs, where one is not enough.
pub const CPUS: &[(&str, u32)] = &[
    ("nmi", 2),
    ("console-held", 2),
    ("two-panics", 2),
    ("two-breakpoints", 2),
    ("silent-cpu", 2),
    ("hang", 2),
];
