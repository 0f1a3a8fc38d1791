//! The ways in which a boot can end: the lines of the table, without what the runner reports.

use qemu::machine::Arch;
use rustix::process::Signal;

use crate::support::tiny::Act;

/// What the kernel does, or what happens to it.
pub enum Way {
    /// QEMU boots an image that does this.
    Kernel(&'static [Act<'static>]),
    /// This script is run in place of QEMU, by a shell. It gets the runner's arguments.
    Script(&'static str),
    /// The same for an image that does this.
    ByScript(&'static [Act<'static>], &'static str),
    /// A kernel that hangs is booted; the runner gets this signal.
    RunnerKilled(Signal),
    /// The same for a script that waits for QEMU.
    ScriptKilled(Signal),
    /// The kernel writes, and reports success, but nothing can be written to the runner's output.
    Full,
    /// A kernel that hangs is booted by this script; QEMU gets this signal. The script `start` starts QEMU.
    Killed(&'static str, Signal),
    /// A kernel that hangs is booted under gdb, which runs these commands. The process of QEMU is `QEMU`.
    Debugged(&'static str),
    /// QEMU boots, and is closed by a command of its monitor for people.
    Closed(&'static str),
    /// A kernel that hangs is booted by a script. A command at QEMU's monitor for people starts a stub for gdb, and the stub gets `kill`.
    StubStarted,
    /// QEMU boots with a window, which is closed.
    WindowClosed,
    /// The kernel reports success, but no file can be written: a file with the results, and a copy of the serial line, are to be.
    NoRoom,
}

/// Starts QEMU in place of the script.
const DIRECT: &str = "exec sh start \"$@\"";
/// Starts QEMU, waits for it, and reports success in its place.
const CLAIMS: &str = "sh start \"$@\"; exit 33";
/// Starts QEMU, waits for it, and succeeds.
const SWALLOWS: &str = "sh start \"$@\"; exit 0";
/// The same, but passes on QEMU's status.
const PASSES_ON: &str = "sh start \"$@\"";

/// How the text of a panic begins in Rust.
const PANIC: &[u8] = b"panicked at src/main.rs:1:2:\n";

const BOTH: &[Arch] = &[Arch::X86_64, Arch::Aarch64];
const X86_64: &[Arch] = &[Arch::X86_64];
const AARCH64: &[Arch] = &[Arch::Aarch64];

/// All ways: on which architectures, what it is called, and what happens.
pub const WAYS: &[(&[Arch], &str, Way)] = &[
    (
        BOTH,
        "the kernel reports success",
        Way::Kernel(&[Act::Exit(33)]),
    ),
    (
        BOTH,
        "the kernel reports a panic",
        Way::Kernel(&[Act::Exit(101)]),
    ),
    (
        BOTH,
        "the kernel ends QEMU with another status",
        Way::Kernel(&[Act::Exit(35)]),
    ),
    (
        AARCH64,
        "the kernel ends QEMU with status 0, by semihosting",
        Way::Kernel(&[Act::Exit(0)]),
    ),
    (
        BOTH,
        "the kernel switches the machine off",
        Way::Kernel(&[Act::SwitchOff]),
    ),
    (
        BOTH,
        "the kernel resets the machine",
        Way::Kernel(&[Act::Reset]),
    ),
    (
        BOTH,
        "the kernel reports success; its script passes the status on",
        Way::ByScript(&[Act::Exit(33)], "MACHINE \"$@\""),
    ),
    (
        BOTH,
        "the kernel reports a panic; its script succeeds",
        Way::ByScript(&[Act::Exit(101)], "MACHINE \"$@\"; exit 0"),
    ),
    (
        AARCH64,
        "the kernel switches the machine off; its script passes the status on",
        Way::ByScript(&[Act::SwitchOff], "MACHINE \"$@\""),
    ),
    (
        BOTH,
        "the kernel reports a panic; its script reports success",
        Way::ByScript(&[Act::Exit(101)], "MACHINE \"$@\"; exit 33"),
    ),
    (
        BOTH,
        "the kernel prints a panic, and resets the machine",
        Way::Kernel(&[Act::Print(PANIC), Act::Reset]),
    ),
    (
        BOTH,
        "the kernel prints a panic, and switches the machine off",
        Way::Kernel(&[Act::Print(PANIC), Act::SwitchOff]),
    ),
    (
        AARCH64,
        "the kernel prints a panic, and ends QEMU with status 0, by semihosting",
        Way::Kernel(&[Act::Print(PANIC), Act::Exit(0)]),
    ),
    (
        AARCH64,
        "the kernel switches the machine off; a debugger may connect to QEMU",
        Way::ByScript(
            &[Act::SwitchOff],
            "exec MACHINE -gdb unix:stub,server=on,wait=off \"$@\"",
        ),
    ),
    (
        BOTH,
        "the kernel hangs, and gdb kills the machine",
        Way::Debugged("stepi\nkill\nshell while kill -0 QEMU 2>/dev/null; do :; done\nquit\n"),
    ),
    (
        BOTH,
        "the kernel hangs, and gdb quits",
        Way::Debugged("quit\n"),
    ),
    (
        BOTH,
        "the kernel hangs, and gdb quits with a status",
        Way::Debugged("quit 3\n"),
    ),
    (
        BOTH,
        "the kernel hangs, and gdb gets SIGKILL",
        Way::Debugged("shell kill -9 $PPID\n"),
    ),
    (
        BOTH,
        "the kernel reports success; the runner's output is full",
        Way::Full,
    ),
    // Unless QEMU ends, too, the runner's output has no end.
    (
        BOTH,
        "the kernel hangs; a script waits for QEMU",
        Way::Script("MACHINE \"$@\" & wait $!"),
    ),
    (
        BOTH,
        "the kernel hangs; its script ends before QEMU",
        Way::Script("MACHINE \"$@\" & exit 0"),
    ),
    (
        BOTH,
        "the kernel hangs; its script closes the serial line",
        Way::Script("exec MACHINE \"$@\" > /dev/null"),
    ),
    (
        BOTH,
        "the kernel reports success; its script closes the serial line",
        Way::ByScript(&[Act::Exit(33)], "exec MACHINE \"$@\" > /dev/null"),
    ),
    (BOTH, "the kernel hangs", Way::Kernel(&[Act::Spin])),
    (
        BOTH,
        "the runner gets SIGINT",
        Way::RunnerKilled(Signal::INT),
    ),
    (
        BOTH,
        "the runner gets SIGTERM",
        Way::RunnerKilled(Signal::TERM),
    ),
    (
        BOTH,
        "the runner gets SIGHUP",
        Way::RunnerKilled(Signal::HUP),
    ),
    (
        BOTH,
        "the runner gets SIGKILL",
        Way::RunnerKilled(Signal::KILL),
    ),
    (
        BOTH,
        "the script gets SIGTERM, and the kernel hangs",
        Way::ScriptKilled(Signal::TERM),
    ),
    (BOTH, "QEMU gets SIGTERM", Way::Killed(DIRECT, Signal::TERM)),
    (BOTH, "QEMU gets SIGINT", Way::Killed(DIRECT, Signal::INT)),
    (BOTH, "QEMU gets SIGKILL", Way::Killed(DIRECT, Signal::KILL)),
    (
        BOTH,
        "QEMU gets SIGTERM; its script passes the status on",
        Way::Killed(PASSES_ON, Signal::TERM),
    ),
    (
        BOTH,
        "QEMU gets SIGTERM; its script succeeds",
        Way::Killed(SWALLOWS, Signal::TERM),
    ),
    (
        BOTH,
        "QEMU gets SIGKILL; its script succeeds",
        Way::Killed(SWALLOWS, Signal::KILL),
    ),
    (
        BOTH,
        "QEMU gets SIGKILL; its script reports success",
        Way::Killed(CLAIMS, Signal::KILL),
    ),
    (BOTH, "QEMU's monitor is told to quit", Way::Closed("quit")),
    (
        BOTH,
        "QEMU's monitor, which a script has added, starts a stub for gdb, and gdb kills the machine",
        Way::StubStarted,
    ),
    // The machine `virt` has none before its kernel draws.
    (X86_64, "QEMU's window is closed", Way::WindowClosed),
    (
        BOTH,
        "the kernel reports success; no file can be written",
        Way::NoRoom,
    ),
    (BOTH, "the command is `true`", Way::Script("exit 0")),
    (BOTH, "the command is `false`", Way::Script("exit 1")),
    (BOTH, "the command is `exit 33`", Way::Script("exit 33")),
    (BOTH, "the command is `exit 101`", Way::Script("exit 101")),
    (
        BOTH,
        "the command only asks QEMU for help",
        Way::Script("exec QEMU -M help"),
    ),
    (
        X86_64,
        "the command is QEMU for another architecture",
        Way::Script("exec qemu-system-aarch64 -M virt -kernel IMAGE \"$@\""),
    ),
    (
        AARCH64,
        "the command is QEMU for another architecture",
        Way::Script("exec qemu-system-x86_64 -M q35 -kernel IMAGE \"$@\""),
    ),
    (
        BOTH,
        "the command has QEMU wait for settings",
        Way::Script("exec MACHINE --preconfig \"$@\""),
    ),
    (
        BOTH,
        "the command names an image that is not there",
        Way::Script("exec QEMU -kernel no-such-image \"$@\""),
    ),
];
