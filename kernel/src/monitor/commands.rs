//! The monitor's commands.

use core::fmt::{self, Write};
use core::hint::{black_box, spin_loop};

use postmortem::capture;

use super::look_up;
use crate::arch::{cpu, exit};
use crate::bad;
use crate::console::{self, println};
use crate::interrupt::Masked;
use crate::platform::{self, POSTMORTEM};
use crate::verdict::Verdict;
use crate::{board, breakpoint, cpus, heap, watchdog};

/// A command.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// The first word of the line.
    name: &'static str,
    /// Its arguments, for the help text.
    arguments: &'static str,
    /// What it does, for the help text.
    about: &'static str,
    /// Runs it, with the rest of the line.
    run: fn(&str) -> Result<(), Unusable<'_>>,
}

/// An argument that a command cannot use; as text, why.
#[derive(Clone, Copy, Debug)]
pub enum Unusable<'a> {
    /// An address was expected.
    Address(&'a str),
    /// The command does not know this word.
    Word(&'a str),
}

impl fmt::Display for Unusable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address("") => {
                f.write_str("missing address: expected up to 16 hexadecimal digits")
            }
            Self::Address(text) => write!(
                f,
                "invalid address `{text}`: expected up to 16 hexadecimal digits"
            ),
            Self::Word(word) => write!(f, "unknown argument `{word}`"),
        }
    }
}

/// All commands, in the order that `help` lists them.
const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        arguments: "",
        about: "list the commands",
        run: help,
    },
    Command {
        name: "bt",
        arguments: "[full]",
        about: "print the backtrace of the monitor; with `full`, take an exception first and print registers too",
        run: backtrace,
    },
    Command {
        name: "cpus",
        arguments: "",
        about: "print the backtraces of the other CPUs",
        run: others,
    },
    Command {
        name: "lookup",
        arguments: "ADDRESS",
        about: "print the function, file and line at ADDRESS, or the stack that contains ADDRESS",
        run: |text| {
            let address = address(text)?;
            // The console never fails.
            let _ = look_up::write(&mut console::lock(), address);
            Ok(())
        },
    },
    Command {
        name: "tasks",
        arguments: "",
        about: "print the state and the backtrace of every task",
        run: |_| {
            // The console never fails.
            let _ = platform::write_tasks(&mut *console::lock());
            Ok(())
        },
    },
    Command {
        name: "heap",
        arguments: "",
        about: "print how much of the heap is used",
        run: |_| {
            println!("{}", heap::usage());
            Ok(())
        },
    },
    Command {
        name: "panic",
        arguments: "[WORDS]",
        about: "panic with the given message",
        run: |words| match words {
            "" => panic!("asked for"),
            words => panic!("{words}"),
        },
    },
    Command {
        name: "fault",
        arguments: "ADDRESS",
        about: "read the word at ADDRESS, which raises an exception if ADDRESS is not mapped",
        run: fault,
    },
    Command {
        name: "overflow",
        arguments: "",
        about: "overflow the stack by infinite recursion",
        run: |_| {
            black_box(fill_stack(black_box(0)));
            Ok(())
        },
    },
    Command {
        name: "hang",
        arguments: "",
        about: "loop forever with interrupts masked; another CPU detects the hang",
        run: |_| hang(),
    },
    Command {
        name: "reboot",
        arguments: "",
        about: "reset the machine",
        run: |_| {
            POSTMORTEM.forget_last_words();
            board::reset()
        },
    },
    Command {
        name: "exit",
        arguments: "",
        about: "exit with success, like Ctrl-D on an empty line",
        run: |_| exit::leave(Verdict::Success),
    },
];

/// The name of the command with this index.
pub fn name(index: usize) -> Option<&'static str> {
    Some(COMMANDS.get(index)?.name)
}

/// Runs the command in a line.
pub fn run(line: &str) {
    let line = line.trim();
    let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
    if name.is_empty() {
        return;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        println!("unknown command `{name}`; expected one of:{Names}");
        return;
    };
    if let Err(why) = (command.run)(arguments.trim_start()) {
        println!("{name}: {why}");
    }
}

/// The commands' names, each after a space.
struct Names;

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        COMMANDS
            .iter()
            .try_for_each(|command| write!(f, " {}", command.name))
    }
}

/// Parses an address: hexadecimal digits, with or without `0x`.
fn address(text: &str) -> Result<u64, Unusable<'_>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_sign = digits.starts_with('+');
    let parsed = u64::from_str_radix(digits, 16).ok();
    parsed.filter(|_| !is_sign).ok_or(Unusable::Address(text))
}

fn help(_: &str) -> Result<(), Unusable<'_>> {
    let mut console = console::lock();
    for command in COMMANDS {
        let (name, arguments) = (command.name, command.arguments);
        let used = name.len() + 1 + arguments.len();
        // The console never fails.
        let _ = writeln!(
            console,
            "  {name} {arguments}{:1$}{2}",
            "",
            18_usize.saturating_sub(used),
            command.about
        );
    }
    Ok(())
}

#[inline(never)]
fn backtrace(arguments: &str) -> Result<(), Unusable<'_>> {
    match arguments {
        "" => write_callers(),
        // Only a trap frame has all registers, so this traps.
        "full" => {
            breakpoint::handle_with(|| {
                platform::show_registers(true);
                write_callers();
                platform::show_registers(false);
            });
            bad::breakpoint();
        }
        word => return Err(Unusable::Word(word)),
    }
    Ok(())
}

#[inline(always)]
fn write_callers() {
    let registers = capture();
    // The console never fails.
    let _ = POSTMORTEM.write_callers(&mut *console::lock(), cpus::this(), registers);
}

/// Stops the other CPUs as for a report, and lets them go on.
fn others(_: &str) -> Result<(), Unusable<'_>> {
    // Locked first, because a CPU that is stopped may hold the lock.
    let mut console = console::lock();
    // The console never fails.
    let _ = writeln!(console, "the monitor runs on cpu {cpu}", cpu = cpus::this());
    // Until the others go on: one of them may have been stopped with the scheduler's lock, for which a tick would wait for ever.
    let _masked = Masked::new();
    if let Some(held) = POSTMORTEM.hold() {
        held.stop();
        let _ = POSTMORTEM.write_others(&mut *console, &held);
    }
    Ok(())
}

#[inline(never)]
fn hang() -> ! {
    watchdog::start();
    while !POSTMORTEM.is_watched() {
        spin_loop();
    }
    cpu::mask_interrupts();
    loop {
        spin_loop();
    }
}

/// A recursion without an end that a compiler can see. Not that of the scenarios, because modules of `scenario` use this one.
#[inline(never)]
fn fill_stack(depth: u32) -> u32 {
    if black_box(depth) == u32::MAX {
        return 0;
    }
    black_box(fill_stack(depth + 1)) ^ depth
}

#[inline(never)]
fn fault(text: &str) -> Result<(), Unusable<'_>> {
    let address = address(text)?;
    // SAFETY: the user of the monitor asks for this access, and is responsible for side effects of device registers.
    let word = unsafe { bad::read(address) };
    println!(
        "the read raised no exception, and returned the word at {address:#018x}: {word:#018x}"
    );
    Ok(())
}
