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
                "an index out of bounds, called through a closure, a trait object and a generic function";
            "heap-panic": Panics, 1 cpu, heap_panic::run,
                "the heap is exhausted";
            "deep": Panics, 1 cpu, deep::run,
                "a panic in a recursion of 200 calls";
            "thumb": Panics, 1 cpu, thumb::run on OnlyArmv7a,
                "a panic below functions in Thumb code and in ARM code, which call each other";
            "thumb-undefined": Panics, 1 cpu, thumb::undefined on OnlyArmv7a,
                "an undefined instruction in Thumb code, which ARM code has called";
            "thumb-breakpoint": Succeeds, 1 cpu, thumb::breakpoint on OnlyArmv7a,
                "a breakpoint in Thumb code, which is reported and returns";
            "ok": Succeeds, 1 cpu, ok::run,
                "prints a line and ends with success";
            "cpus": Succeeds, 1 cpu, cpus::run,
                "every CPU prints a line (see --cpus)";
            "null-read": Panics, 1 cpu, access::null_read,
                "a read through a null pointer";
            "null-call": PanicsInDoubt, 1 cpu, access::null_call,
                "a call through a null pointer";
            "wild-jump": PanicsInDoubt, 1 cpu, access::wild_jump,
                "a jump to an address without code";
            "write-to-code": Panics, 1 cpu, access::write_to_code,
                "a write to read-only memory";
            "call-data": PanicsInDoubt, 1 cpu, access::call_data,
                "a call of memory that is not executable";
            "misaligned": Panics, 1 cpu, access::misaligned,
                "a misaligned access that must be aligned";
            "not-canonical": Panics, 1 cpu, access::not_canonical on NotArmv7a,
                "a read from a non-canonical address: general protection on x86_64";
            "undefined": Panics, 1 cpu, instructions::undefined,
                "an undefined instruction";
            "divide": Panics, 1 cpu, instructions::divide,
                "a division by zero: an exception on x86_64, a panic on aarch64";
            "breakpoint": Succeeds, 1 cpu, instructions::breakpoint,
                "a breakpoint, which is reported and returns";
            "first-instruction": Panics, 1 cpu, places::first_instruction,
                "an exception at the first instruction of a function";
            "leaf": Panics, 1 cpu, places::leaf,
                "an exception at the start of a leaf function";
            "prologue": Panics, 1 cpu, places::prologue,
                "an exception in the middle of a prologue";
            "epilogue": Panics, 1 cpu, places::epilogue,
                "an exception in an epilogue, after the frame is gone";
            "tail-call": Panics, 1 cpu, places::tail_call,
                "an exception right after a tail call";
            "last-call": Panics, 1 cpu, places::last_call,
                "an exception in a function that never returns, called by another's last instruction";
            "variable-frame": Panics, 1 cpu, places::variable_frame,
                "an exception below a function with a frame of variable size";
            "realigned-frame": Panics, 1 cpu, places::realigned_frame,
                "an exception in a function that aligns its stack";
            "asm-with-rules": Panics, 1 cpu, places::asm_with_rules,
                "an exception in a function called by assembly with call frame directives";
            "asm-without-rules": Panics, 1 cpu, places::asm_without_rules,
                "an exception in a function called by assembly without call frame directives";
            "asm-beyond-proof": PanicsInDoubt, 1 cpu, places::asm_beyond_proof,
                "an exception in a function called by assembly without call frame directives that loads its stack pointer from memory";
            "late-save": Panics, 1 cpu, late_save::run,
                "a read from unmapped memory, before the return address is in the place that the compiler's tables give";
            "lies": Succeeds, 1 cpu, lies::run,
                "breakpoints where call frame directives contradict the code, with a report of each";
            "damaged-return-address": PanicsInDoubt, 1 cpu, places::damaged_return_address,
                "a return address was overwritten";
            "damaged-frame-pointer": Panics, 1 cpu, places::damaged_frame_pointer,
                "a frame pointer was overwritten";
            "stray-stack-pointer": PanicsInDoubt, 1 cpu, places::stray_stack_pointer,
                "the stack pointer is in no stack";
            "exception-in-handler": Panics, 1 cpu, nested::exception_in_handler,
                "an exception inside the handler of an earlier exception";
            "panic-in-handler": Panics, 1 cpu, nested::panic_in_handler,
                "a panic in the handler of an exception";
            "double-fault": Panics, 1 cpu, nested::no_stack_for_handler,
                "an exception on a stack without space for it";
            "stack-overflow": Panics, 1 cpu, overflow::recursion,
                "a recursion fills the stack";
            "nearly-full": FailsToReport, 1 cpu, overflow::nearly,
                "a panic on a stack without space for its report";
            "huge-frame": Panics, 1 cpu, overflow::huge_frame on NotArmv7a,
                "one frame is bigger than the stack";
            "monitor": Interactive, 1 cpu, monitor::run,
                "takes commands from the serial line: `help` lists them";
            "panic-in-panic": FailsToReport, 1 cpu, display::panic_in_panic,
                "a panic whose message panics";
            "fault-in-panic": FailsToReport, 1 cpu, display::fault_in_panic,
                "a panic whose message raises an exception";
            "panic-in-print": Panics, 1 cpu, display::panic_in_print,
                "a panic while the same code holds the console's lock";
            "one-call": Succeeds, 1 cpu, one_call::run,
                "a report in one call, as in a kernel that implements no `Platform`";
            "one-call-stack": Succeeds, 1 cpu, one_call::stack,
                "the smallest report in one call: registers and stack words, from which the host makes the backtrace";
            "one-call-masked": Succeeds, 1 cpu, one_call::masked,
                "a report in one call, which prints whether interrupts are masked meanwhile";
            "no-screen": Panics, 1 cpu, screen::is_none,
                "a panic whose report goes to the serial line, then to a missing screen";
            "sabotage": Panics, 1 cpu, sabotage::run,
                "a panic whose report calls the kernel, where a second failure happens: `sabotage CALL WAY`";
            "early-panic": Panics, 1 cpu, early::panic at Vectors,
                "a panic before the console, the page tables and the heap are set up";
            "early-exception": Panics, 1 cpu, early::exception at Vectors,
                "an exception before the console, the page tables and the heap are set up";
            "no-heap": Panics, 1 cpu, early::allocation at Tables,
                "an allocation before there is a heap";
            "unreadable-stack": PanicsInDoubt, 1 cpu, unreadable::run,
                "the memory of a stack is unmapped";
            "watched-stack": Panics, 1 cpu, unreadable::watched on NotArmv7a,
                "a debugger's watchpoint on memory that the report reads";
            "unreadable-code": PanicsInDoubt, 1 cpu, unreadable::code,
                "the memory of a caller's code is unmapped";
            "epitaph": SucceedsAfterReset, 1 cpu, epitaph::read,
                "a panic that resets the machine; the next boot prints the report";
            "epitaph-beside": SucceedsAfterReset, 2 cpus, epitaph::beside_another,
                "a panic that resets the machine while another CPU prints and does not answer; the next boot prints the report";
            "epitaph-damaged": SucceedsAfterReset, 1 cpu, epitaph::damaged,
                "a reset after which the stored report has a wrong checksum";
            "stray-in-handler": PanicsInDoubt, 1 cpu, nested::stray_stack_pointer,
                "the stack pointer of an exception's handler is in no stack";
            "nmi": Succeeds, 2 cpus, others::nmi,
                "an NMI in a tight loop, after which the loop continues; FIQ on aarch64";
            "log-in-nmi": Succeeds, 2 cpus, logging::in_nmi,
                "with --defmt: a CPU logs while NMIs interrupt it, and their handler logs too";
            "print-in-nmi": Succeeds, 2 cpus, logging::print_in_nmi,
                "a CPU prints (with --defmt it logs too) while NMIs interrupt it, and their handler prints";
            "console-held": Panics, 2 cpus, others::console_held,
                "a panic on a CPU while another CPU holds the console";
            "two-panics": Panics, 2 cpus, others::two_panics,
                "a panic on two CPUs at the same time";
            "two-breakpoints": Succeeds, 2 cpus, others::two_breakpoints,
                "a breakpoint on two CPUs at the same time; both continue";
            "silent-cpu": Panics, 2 cpus, others::silent_cpu,
                "a panic while another CPU does not answer";
            "hang": Panics, 2 cpus, others::hang,
                "a CPU hangs with interrupts masked and a lock held; another CPU's watchdog detects it";
            "tasks": Succeeds, 1 cpu, tasks::run,
                "several tasks stop in different places, one of them by the timer; all are reported";
            "crowd": Succeeds, 1 cpu, crowd::run,
                "tasks start, wait and end on every CPU (see --cpus)";
            "elsewhere": Panics, 2 cpus, crowd::elsewhere,
                "a task on another CPU, in a report of all tasks and in one of all CPUs";
            "busy": Succeeds, 1 cpu, busy::run,
                "every CPU works and is interrupted; with --cpus 4 and QEMU's `nmi` or power button, a backtrace of each";
            "sampled": Succeeds, 1 cpu, sampled::run,
                "every CPU samples its call stack at each tick and sends a profile";
            "panic-in-timer": Panics, 1 cpu, timer::panic_in_handler,
                "a panic in the handler of a timer interrupt";
            "interrupt-in-interrupt": Panics, 1 cpu, timer::interrupt_in_interrupt,
                "a timer interrupt in the handler of an earlier timer interrupt";
            "interrupted-places": Succeeds, 1 cpu, timer::places,
                "timer interrupts in places where a stack walk is hard, with a report of each";
            "user-call": Panics, 1 cpu, user::call,
                "a panic in a system call of a user program";
            "user-read": Panics, 1 cpu, user::read,
                "a user program reads through a null pointer";
            "user-interrupted": Panics, 1 cpu, user::interrupted,
                "a panic in the handler of a timer interrupt that came while a user program ran";
            "deadlock": Panics, 1 cpu, deadlock::two_tasks,
                "two tasks wait for each other's locks";
            "lock-twice": Panics, 1 cpu, deadlock::twice,
                "a task waits for a lock that it holds";
            "panic-in-task": Panics, 1 cpu, deadlock::panic_in_task,
                "a panic in a task that another task waits for";
            "task-overflow": Panics, 1 cpu, deadlock::overflow,
                "a recursion fills the stack of a task";
            "hang-masked": Hangs, 1 cpu, hangs::masked,
                "a loop with interrupts masked";
            "hang-early": Hangs, 1 cpu, hangs::early at Vectors,
                "a loop before the console, the page tables and the heap are set up";
            "hang-deep": Hangs, 1 cpu, hangs::deep,
                "a loop below a recursion of 100 calls";
            "hang-idle": Hangs, 1 cpu, hangs::idle,
                "all CPUs are idle forever";
            "hang-two-locks": Hangs, 2 cpus, hangs::two_locks,
                "two CPUs spin for each other's locks";
            "hang-stopped-holder": Hangs, 2 cpus, hangs::stopped_holder,
                "a CPU spins for a lock whose holder has stopped";
            "hang-in-interrupt": Hangs, 1 cpu, hangs::in_interrupt,
                "a loop in the handler of a timer interrupt";
            "hang-in-nmi": Hangs, 2 cpus, hangs::in_nmi,
                "a loop in the handler of an NMI; FIQ on aarch64";
            "hang-tasks": Hangs, 1 cpu, hangs::tasks,
                "a task loops while it holds a lock that another task waits for";
            "hang-exceptions": Hangs, 1 cpu, hangs::exceptions,
                "exceptions forever";
            "hang-storm": Hangs, 1 cpu, hangs::storm,
                "interrupts forever";
            "hang-livelock": Hangs, 1 cpu, hangs::livelock,
                "two tasks that yield to each other forever";
            "hang-no-vectors": Hangs, 1 cpu, hangs::no_vectors,
                "an exception without vectors: a triple fault on x86_64";
            "hang-reset": Hangs, 1 cpu, hangs::reset,
                "the machine resets itself";
            "hang-lock-twice": Hangs, 1 cpu, hangs::locks::twice,
                "a CPU spins for a lock that it holds";
            "hang-lock-in-interrupt": Hangs, 1 cpu, hangs::locks::in_interrupt,
                "the handler of a timer interrupt spins for a lock of the interrupted code";
            "hang-lock-in-nmi": Hangs, 2 cpus, hangs::locks::in_nmi,
                "the handler of an NMI (FIQ on aarch64) spins for a lock of the interrupted code";
            "hang-rendezvous": Hangs, 2 cpus, hangs::locks::rendezvous,
                "a CPU waits for the answer of a CPU that has masked interrupts";
            "hang-after-you": Hangs, 2 cpus, hangs::locks::after_you,
                "two CPUs that yield to each other forever";
            "hang-device": Hangs, 1 cpu, hangs::waits::device,
                "a loop until a device is ready that never becomes ready";
            "hang-joins": Hangs, 1 cpu, hangs::waits::joins,
                "a task holds a lock and waits for the end of a task that needs this lock";
            "hang-sleep": Hangs, 1 cpu, hangs::waits::sleep,
                "a task sleeps for longer than a lifetime";
            "hang-nmis": Hangs, 1 cpu, hangs::waits::nmis,
                "NMIs forever; FIQs on aarch64";
            "hang-nested": Hangs, 1 cpu, hangs::waits::nested,
                "a loop in an interrupt handler that interrupted another interrupt handler";
            "hang-message": Hangs, 1 cpu, hangs::waits::message,
                "a panic whose message does not end";
            "hang-system-call": Hangs, 1 cpu, hangs::waits::system_call,
                "a loop in a system call of a user program";
            "hang-outside": Hangs, 1 cpu, hangs::lost::outside at Vectors,
                "a loop outside the image's code";
            "hang-stray-return": Hangs, 1 cpu, hangs::lost::stray_return,
                "a function returns to a loop that did not call it";
            "hang-stray-stack": Hangs, 1 cpu, hangs::lost::stray_stack_pointer,
                "a loop with the stack pointer in no stack";
            "hang-overwritten-stack": Hangs, 1 cpu, hangs::lost::overwritten_stack,
                "a loop on a stack without return addresses";
            "hang-no-tables": Hangs, 1 cpu, hangs::lost::no_tables,
                "page tables that map nothing: a triple fault on x86_64";
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
