//! The scenarios of the kernel: one table, which the kernel and the program that boots it both read.

/// A way for the kernel to run, chosen by its name on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The word on the command line.
    pub name: &'static str,
    /// The way in which the scenario should end.
    pub outcome: Outcome,
    /// The fewest CPUs that the scenario needs.
    pub cpus: u32,
    /// The stage of the boot at which the scenario runs.
    pub stage: Stage,
    /// The architectures that have the scenario.
    pub machines: Machines,
    /// A description in one line.
    pub about: &'static str,
}

impl Scenario {
    /// Returns whether the architecture with this name has the scenario.
    #[must_use]
    pub fn is_on(&self, architecture: &str) -> bool {
        match self.machines {
            Machines::All => true,
            Machines::NotArmv7a => architecture != ARMV7A,
            Machines::OnlyArmv7a => architecture == ARMV7A,
        }
    }
}

/// The name of the architecture that has fewer scenarios.
const ARMV7A: &str = "armv7a";

/// The architectures that have a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machines {
    /// All architectures.
    All,
    /// All architectures except ARMv7-A: the scenario needs a compiler that touches each page of a large frame, or addresses that are not
    /// canonical.
    NotArmv7a,
    /// ARMv7-A only.
    OnlyArmv7a,
}

/// The way in which a scenario should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The scenario succeeds.
    Succeeds,
    /// The scenario ends with a report of a panic or of an exception that has every caller.
    Panics,
    /// The scenario ends with a report that is in doubt about a caller, and states why.
    PanicsInDoubt,
    /// The scenario succeeds after it has reset the machine.
    SucceedsAfterReset,
    /// The scenario fails again while it is being reported: the report has one line about the second failure.
    FailsToReport,
    /// The user at the serial line decides.
    Interactive,
    /// The scenario does not end, or ends without output. The runner queries the machine about what it does.
    Hangs,
}

/// The stage of the kernel's boot at which a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Exceptions have their vectors. The page tables are those of the boot code, and nothing was written to the console yet.
    Vectors,
    /// The page tables are the kernel's own. There is no heap.
    Tables,
    /// The kernel has booted.
    Up,
}

/// Calls the macro `$use` with the table. The first scenario is the default.
///
/// An entry has the word on the command line, the [`Outcome`], the fewest CPUs, the function in the kernel, optionally the [`Stage`] at
/// which it runs before the kernel has booted, optionally the [`Machines`] that have it, and the description. The functions are tokens:
/// only the kernel has them, in its folder `scenario`, and other users of the table ignore them.
#[macro_export]
macro_rules! scenarios {
    ($use:ident) => {
        $use! {
            "panic": Panics, 1 cpu, panic::run,
                "panics on an index out of bounds, called through a closure, a trait object and a generic function";
            "heap-panic": Panics, 1 cpu, heap_panic::run,
                "allocates memory until the heap is exhausted";
            "deep": Panics, 1 cpu, deep::run,
                "panics in a recursive function, 200 calls deep";
            "thumb": Panics, 1 cpu, thumb::run on OnlyArmv7a,
                "panics after calls between Thumb functions and ARM functions";
            "thumb-undefined": Panics, 1 cpu, thumb::undefined on OnlyArmv7a,
                "executes an undefined instruction in Thumb code called from ARM code";
            "thumb-breakpoint": Succeeds, 1 cpu, thumb::breakpoint on OnlyArmv7a,
                "hits a breakpoint in Thumb code, prints a report and continues";
            "ok": Succeeds, 1 cpu, ok::run,
                "prints one line and exits successfully";
            "cpus": Succeeds, 1 cpu, cpus::run,
                "prints a line on every CPU; --cpus sets the number of CPUs";
            "null-read": Panics, 1 cpu, access::null_read,
                "reads through a null pointer";
            "null-call": PanicsInDoubt, 1 cpu, access::null_call,
                "calls a null function pointer";
            "wild-jump": PanicsInDoubt, 1 cpu, access::wild_jump,
                "jumps to an address that contains no code";
            "write-to-code": Panics, 1 cpu, access::write_to_code,
                "writes to read-only memory";
            "call-data": PanicsInDoubt, 1 cpu, access::call_data,
                "calls an address in non-executable memory";
            "misaligned": Panics, 1 cpu, access::misaligned,
                "makes a misaligned access with an instruction that requires alignment";
            "not-canonical": Panics, 1 cpu, access::not_canonical on NotArmv7a,
                "reads from a non-canonical address, which raises a general protection fault on x86_64";
            "undefined": Panics, 1 cpu, instructions::undefined,
                "executes an undefined instruction";
            "divide": Panics, 1 cpu, instructions::divide,
                "divides by zero, which raises an exception on x86_64 and panics on Arm";
            "breakpoint": Succeeds, 1 cpu, instructions::breakpoint,
                "hits a breakpoint, prints a report and continues";
            "first-instruction": Panics, 1 cpu, places::first_instruction,
                "takes an exception at the first instruction of a function";
            "leaf": Panics, 1 cpu, places::leaf,
                "takes an exception at the start of a leaf function";
            "prologue": Panics, 1 cpu, places::prologue,
                "takes an exception in the middle of a function prologue";
            "epilogue": Panics, 1 cpu, places::epilogue,
                "takes an exception in an epilogue, after the stack frame is released";
            "tail-call": Panics, 1 cpu, places::tail_call,
                "takes an exception immediately after a tail call";
            "last-call": Panics, 1 cpu, places::last_call,
                "takes an exception in a function that never returns; the call of this function is the last instruction of the caller";
            "variable-frame": Panics, 1 cpu, places::variable_frame,
                "takes an exception in code called by a function whose frame size varies at run time";
            "realigned-frame": Panics, 1 cpu, places::realigned_frame,
                "takes an exception in code called by a function that realigns its stack pointer";
            "asm-with-rules": Panics, 1 cpu, places::asm_with_rules,
                "takes an exception in a function whose caller is assembly code with CFI directives";
            "asm-without-rules": Panics, 1 cpu, places::asm_without_rules,
                "takes an exception in a function whose caller is assembly code without CFI directives";
            "asm-beyond-proof": PanicsInDoubt, 1 cpu, places::asm_beyond_proof,
                "takes an exception in a function called by assembly code; the assembly code has no CFI directives, and loads the stack pointer from memory";
            "late-save": Panics, 1 cpu, late_save::run,
                "takes an exception in a function that has not saved its return address yet, although .eh_frame describes the address as saved";
            "lies": Succeeds, 1 cpu, lies::run,
                "hits breakpoints where CFI directives contradict the code, and prints a report for each";
            "damaged-return-address": PanicsInDoubt, 1 cpu, places::damaged_return_address,
                "takes an exception after overwriting a return address on the stack";
            "damaged-frame-pointer": Panics, 1 cpu, places::damaged_frame_pointer,
                "takes an exception after overwriting the frame pointer";
            "stray-stack-pointer": PanicsInDoubt, 1 cpu, places::stray_stack_pointer,
                "takes an exception with a stack pointer that is outside every stack";
            "exception-in-handler": Panics, 1 cpu, nested::exception_in_handler,
                "takes an exception in an exception handler";
            "panic-in-handler": Panics, 1 cpu, nested::panic_in_handler,
                "panics in an exception handler";
            "double-fault": Panics, 1 cpu, nested::no_stack_for_handler,
                "takes an exception on a stack that has no space for the trap frame";
            "stack-overflow": Panics, 1 cpu, overflow::recursion,
                "overflows the stack by infinite recursion";
            "nearly-full": FailsToReport, 1 cpu, overflow::nearly,
                "panics on a stack that has too little space left for the report";
            "huge-frame": Panics, 1 cpu, overflow::huge_frame on NotArmv7a,
                "calls a function whose stack frame is larger than the stack";
            "monitor": Interactive, 1 cpu, monitor::run,
                "reads commands from the serial line (`help` lists them)";
            "panic-in-panic": FailsToReport, 1 cpu, display::panic_in_panic,
                "panics with a message whose formatting panics";
            "fault-in-panic": FailsToReport, 1 cpu, display::fault_in_panic,
                "panics with a message whose formatting raises an exception";
            "panic-in-print": Panics, 1 cpu, display::panic_in_print,
                "panics in code that holds the console lock";
            "one-call": Succeeds, 1 cpu, one_call::run,
                "calls `postmortem::print` to print a report, without an implementation of `Platform`";
            "one-call-stack": Succeeds, 1 cpu, one_call::stack,
                "calls `postmortem::print_stack` to print registers and stack words; the host computes the backtrace from this output";
            "one-call-masked": Succeeds, 1 cpu, one_call::masked,
                "calls `postmortem::print` to print a report, and prints whether interrupts are masked during the report and after it";
            "no-screen": Panics, 1 cpu, screen::is_none,
                "panics while the framebuffer is at an unmapped address, and prints the report on the serial line";
            "sabotage": Panics, 1 cpu, sabotage::run,
                "panics, and fails again when the report calls the kernel function CALL; WAY selects the kind of the second failure; usage: `sabotage CALL WAY`";
            "early-panic": Panics, 1 cpu, early::panic at Vectors,
                "panics before the console, the page tables and the heap are set up";
            "early-exception": Panics, 1 cpu, early::exception at Vectors,
                "takes an exception before the console, the page tables and the heap are set up";
            "no-heap": Panics, 1 cpu, early::allocation at Tables,
                "allocates memory before the heap is set up";
            "unreadable-stack": PanicsInDoubt, 1 cpu, unreadable::run,
                "panics on a stack that has an unmapped page";
            "watched-stack": Panics, 1 cpu, unreadable::watched on NotArmv7a,
                "panics with a hardware watchpoint on memory that the report reads";
            "unreadable-code": PanicsInDoubt, 1 cpu, unreadable::code,
                "panics in a function whose caller's code is unmapped";
            "epitaph": SucceedsAfterReset, 1 cpu, epitaph::read,
                "panics and resets the machine; the next boot prints the report";
            "epitaph-beside": SucceedsAfterReset, 2 cpus, epitaph::beside_another,
                "panics and resets the machine while another CPU prints in an endless loop; the next boot prints the report";
            "epitaph-damaged": SucceedsAfterReset, 1 cpu, epitaph::damaged,
                "resets the machine, and finds a wrong checksum in the stored report at the next boot";
            "stray-in-handler": PanicsInDoubt, 1 cpu, nested::stray_stack_pointer,
                "takes an exception in an exception handler whose stack pointer is outside every stack";
            "nmi": Succeeds, 2 cpus, others::nmi,
                "interrupts a tight loop with an NMI (FIQ on aarch64), then continues the loop";
            "log-in-nmi": Succeeds, 2 cpus, logging::in_nmi,
                "writes log messages both in a loop and in the NMI handler that interrupts the loop (needs --defmt)";
            "print-in-nmi": Succeeds, 2 cpus, logging::print_in_nmi,
                "prints lines both in a loop and in the NMI handler that interrupts the loop; with --defmt, the loop also writes log messages";
            "console-held": Panics, 2 cpus, others::console_held,
                "panics on one CPU while another CPU holds the console lock";
            "two-panics": Panics, 2 cpus, others::two_panics,
                "panics on two CPUs at the same time";
            "two-breakpoints": Succeeds, 2 cpus, others::two_breakpoints,
                "hits a breakpoint on two CPUs at the same time, then continues on both";
            "silent-cpu": Panics, 2 cpus, others::silent_cpu,
                "panics while another CPU does not respond";
            "hang": Panics, 2 cpus, others::hang,
                "hangs a CPU that has masked interrupts and holds a lock; the watchdog of another CPU detects the hang";
            "tasks": Succeeds, 1 cpu, tasks::run,
                "stops several tasks in different places, one of them by a timer interrupt, and prints the backtraces of all tasks";
            "crowd": Succeeds, 1 cpu, crowd::run,
                "starts, blocks and ends tasks on every CPU; --cpus sets the number of CPUs";
            "elsewhere": Panics, 2 cpus, crowd::elsewhere,
                "runs a task on another CPU, and prints its backtrace in a report of all tasks and in a report of all CPUs";
            "busy": Succeeds, 1 cpu, busy::run,
                "keeps every CPU busy; with --cpus 4, QEMU's `nmi` command or power button prints a backtrace of each CPU";
            "sampled": Succeeds, 1 cpu, sampled::run,
                "samples the call stack of every CPU at each timer tick, and sends the profile on the serial line";
            "panic-in-timer": Panics, 1 cpu, timer::panic_in_handler,
                "panics in the handler of a timer interrupt";
            "interrupt-in-interrupt": Panics, 1 cpu, timer::interrupt_in_interrupt,
                "takes a timer interrupt in the handler of an earlier timer interrupt";
            "interrupted-places": Succeeds, 1 cpu, timer::places,
                "takes timer interrupts at instructions that are hard to unwind from, and prints a report for each";
            "user-call": Panics, 1 cpu, user::call,
                "panics in the kernel during a system call of a user program";
            "user-read": Panics, 1 cpu, user::read,
                "runs a user program that reads through a null pointer";
            "user-interrupted": Panics, 1 cpu, user::interrupted,
                "panics in the handler of a timer interrupt that interrupted a user program";
            "deadlock": Panics, 1 cpu, deadlock::two_tasks,
                "deadlocks two tasks that wait for each other's locks";
            "lock-twice": Panics, 1 cpu, deadlock::twice,
                "deadlocks a task that waits for a lock it already holds";
            "panic-in-task": Panics, 1 cpu, deadlock::panic_in_task,
                "panics in a task while another task waits for it to end";
            "task-overflow": Panics, 1 cpu, deadlock::overflow,
                "overflows the stack of a task by infinite recursion";
            "hang-masked": Hangs, 1 cpu, hangs::masked,
                "loops with interrupts masked";
            "hang-early": Hangs, 1 cpu, hangs::early at Vectors,
                "loops before the console, the page tables and the heap are set up";
            "hang-deep": Hangs, 1 cpu, hangs::deep,
                "loops in a recursive function, 100 calls deep";
            "hang-idle": Hangs, 1 cpu, hangs::idle,
                "leaves all CPUs idle forever";
            "hang-two-locks": Hangs, 2 cpus, hangs::two_locks,
                "deadlocks two CPUs that spin for each other's locks";
            "hang-stopped-holder": Hangs, 2 cpus, hangs::stopped_holder,
                "spins for a lock whose holder, another CPU, has stopped";
            "hang-in-interrupt": Hangs, 1 cpu, hangs::in_interrupt,
                "loops in the handler of a timer interrupt";
            "hang-in-nmi": Hangs, 2 cpus, hangs::in_nmi,
                "loops in the handler of an NMI (FIQ on aarch64)";
            "hang-tasks": Hangs, 1 cpu, hangs::tasks,
                "loops in a task that holds a lock while another task waits for that lock";
            "hang-exceptions": Hangs, 1 cpu, hangs::exceptions,
                "executes a breakpoint instruction in an endless loop";
            "hang-storm": Hangs, 1 cpu, hangs::storm,
                "takes interrupts forever, because the interrupt handler sends the next interrupt";
            "hang-livelock": Hangs, 1 cpu, hangs::livelock,
                "runs two tasks that yield to each other forever";
            "hang-no-vectors": Hangs, 1 cpu, hangs::no_vectors,
                "takes an exception while no exception vectors are set, which causes a triple fault on x86_64";
            "hang-reset": Hangs, 1 cpu, hangs::reset,
                "resets the machine";
            "hang-lock-twice": Hangs, 1 cpu, hangs::locks::twice,
                "spins on a CPU for a lock that the same CPU already holds";
            "hang-lock-in-interrupt": Hangs, 1 cpu, hangs::locks::in_interrupt,
                "spins in a timer interrupt handler for a lock that the interrupted code holds";
            "hang-lock-in-nmi": Hangs, 2 cpus, hangs::locks::in_nmi,
                "spins in an NMI handler (FIQ on aarch64) for a lock that the interrupted code holds";
            "hang-rendezvous": Hangs, 2 cpus, hangs::locks::rendezvous,
                "waits for a response from another CPU that has masked interrupts";
            "hang-after-you": Hangs, 2 cpus, hangs::locks::after_you,
                "runs a livelock of two CPUs that yield to each other forever";
            "hang-device": Hangs, 1 cpu, hangs::waits::device,
                "polls a device that never becomes ready";
            "hang-joins": Hangs, 1 cpu, hangs::waits::joins,
                "holds a lock while joining a task that waits for the same lock";
            "hang-sleep": Hangs, 1 cpu, hangs::waits::sleep,
                "puts a task to sleep for millions of years";
            "hang-nmis": Hangs, 1 cpu, hangs::waits::nmis,
                "takes NMIs (FIQs on aarch64) forever, because the NMI handler sends the next NMI";
            "hang-nested": Hangs, 1 cpu, hangs::waits::nested,
                "loops in an interrupt handler that interrupted another interrupt handler";
            "hang-message": Hangs, 1 cpu, hangs::waits::message,
                "panics with a message whose formatting never returns";
            "hang-system-call": Hangs, 1 cpu, hangs::waits::system_call,
                "loops in the kernel during a system call of a user program";
            "hang-outside": Hangs, 1 cpu, hangs::lost::outside at Vectors,
                "loops at an address outside the kernel's code";
            "hang-stray-return": Hangs, 1 cpu, hangs::lost::stray_return,
                "returns through an overwritten return address into an endless loop";
            "hang-stray-stack": Hangs, 1 cpu, hangs::lost::stray_stack_pointer,
                "loops with a stack pointer that is outside every stack";
            "hang-overwritten-stack": Hangs, 1 cpu, hangs::lost::overwritten_stack,
                "loops on a stack whose return addresses were overwritten";
            "hang-no-tables": Hangs, 1 cpu, hangs::lost::no_tables,
                "loads page tables that map nothing, which causes a triple fault on x86_64";
        }
    };
}

/// The stage of an entry that names it, or does not.
#[macro_export]
#[doc(hidden)]
macro_rules! stage {
    () => {
        $crate::scenarios::Stage::Up
    };
    ($stage:ident) => {
        $crate::scenarios::Stage::$stage
    };
}

/// The machines of an entry that names them, or does not.
#[macro_export]
#[doc(hidden)]
macro_rules! machines {
    () => {
        $crate::scenarios::Machines::All
    };
    ($machines:ident) => {
        $crate::scenarios::Machines::$machines
    };
}

/// The table without the functions.
macro_rules! data {
    ($($name:literal: $outcome:ident, $cpus:literal $unit:ident, $($function:ident)::+ $(at $stage:ident)? $(on $machines:ident)?, $about:literal;)*) => {
        &[$(Scenario {
            name: $name,
            outcome: Outcome::$outcome,
            cpus: $cpus,
            stage: stage!($($stage)?),
            machines: machines!($($machines)?),
            about: $about,
        }),*]
    };
}

/// All scenarios.
pub const SCENARIOS: &[Scenario] = scenarios!(data);

/// Returns the scenario with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.get(number(name)?)
}

/// Returns the index in [`SCENARIOS`] of the scenario with this name.
#[must_use]
pub fn number(name: &str) -> Option<usize> {
    SCENARIOS.iter().position(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        for (index, scenario) in SCENARIOS.iter().enumerate() {
            let first = SCENARIOS
                .iter()
                .position(|other| other.name == scenario.name);
            assert_eq!(first, Some(index), "{}", scenario.name);
        }
    }

    #[test]
    fn entries_are_read_as_they_are_written() {
        assert_eq!(SCENARIOS[0].name, "panic");
        let hang = find("hang").expect("it is in the table");
        assert_eq!((hang.cpus, hang.stage), (2, Stage::Up));
        let early = find("no-heap").expect("it is in the table");
        assert_eq!((early.cpus, early.stage), (1, Stage::Tables));
        assert!(find("").is_none());
    }
}
