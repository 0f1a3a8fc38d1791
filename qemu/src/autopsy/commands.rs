//! The commands of the monitor on a dump.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::words::{address, expect_no_more, number};
use crate::disassemble::disassemble;
use crate::dump::Remains;
use crate::hardware::Processor;
use crate::outside::{Asked, Outside};

/// Words of memory, and instructions, that are shown unless a count is typed; and the most that may be.
const WORDS: u64 = 16;
const INSTRUCTIONS: usize = 16;
const MOST: u64 = 4096;
/// Bytes of the longest instruction (Intel SDM volume 2, section 2.3.11).
const LONGEST: u64 = 15;

/// A dump, and whoever looks at it.
#[derive(Debug)]
pub(super) struct Monitor {
    dump: Box<dyn Remains>,
    path: PathBuf,
    asked: Asked,
    /// The CPU that is looked at, whose page tables say what lies where.
    cpu: usize,
}

/// A command.
struct Command {
    /// The first word of the line.
    name: &'static str,
    /// Its arguments, for the help text.
    arguments: &'static str,
    /// What it does, for the help text.
    about: &'static str,
    /// Runs it with the other words; the text that it shows, or none to end.
    run: fn(&mut Monitor, &[&str]) -> Result<Option<String>>,
}

/// All commands, in the order that `help` lists them.
const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        arguments: "",
        about: "list the commands",
        run: |_, words| {
            expect_no_more(words.iter().copied())?;
            Ok(Some(help()))
        },
    },
    Command {
        name: "bt",
        arguments: "[CPU | task NUMBER]",
        about: "print the backtrace of the selected CPU, of another CPU, or of a waiting task",
        run: Monitor::backtrace,
    },
    Command {
        name: "report",
        arguments: "",
        about: "print the backtraces of all CPUs and of all waiting tasks",
        run: Monitor::report,
    },
    Command {
        name: "cpu",
        arguments: "NUMBER",
        about: "select a CPU, and print where the selected CPU stopped",
        run: Monitor::look_at,
    },
    Command {
        name: "tasks",
        arguments: "",
        about: "print the backtrace of each waiting task and the reason why the task waits",
        run: |monitor, words| {
            expect_no_more(words.iter().copied())?;
            let text = monitor.asked.tasks(&mut *monitor.dump)?;
            Ok(Some(text))
        },
    },
    Command {
        name: "registers",
        arguments: "",
        about: "print all registers of the selected CPU",
        run: Monitor::registers,
    },
    Command {
        name: "lookup",
        arguments: "ADDRESS",
        about: "print the function and source line, or the stack, that contains an address",
        run: Monitor::look_up,
    },
    Command {
        name: "x",
        arguments: "ADDRESS [COUNT]",
        about: "print words of memory, with the static that contains each word and the symbol to which the word points",
        run: Monitor::memory,
    },
    Command {
        name: "disassemble",
        arguments: "[ADDRESS [COUNT]]",
        about: "print the instructions at an address, or at the program counter of the selected CPU",
        run: Monitor::code,
    },
    Command {
        name: "exit",
        arguments: "",
        about: "end the session; Ctrl-D on an empty line does the same",
        run: |_, words| expect_no_more(words.iter().copied()).map(|()| None),
    },
];

/// The name of the command with this index.
pub(super) fn name(index: usize) -> Option<&'static str> {
    Some(COMMANDS.get(index)?.name)
}

fn help() -> String {
    let mut text = String::new();
    for command in COMMANDS {
        let form = format!("{} {}", command.name, command.arguments);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{form:<30} {}", command.about);
    }
    text + "ADDRESS is a hexadecimal number, or the full name of a function or static. COUNT and NUMBER are decimal.\n"
}

impl Monitor {
    pub(super) fn open(mut dump: Box<dyn Remains>, image: &Path) -> Result<Self> {
        let asked = Asked::open(image, &mut *dump)?;
        Ok(Self {
            dump,
            path: image.to_owned(),
            asked,
            cpu: 0,
        })
    }

    /// What to say before the first command.
    pub(super) fn greeting(&mut self) -> String {
        let count = self.dump.cpus().map_or(0, |cpus| cpus.len());
        let cpus = if count == 1 { "CPU" } else { "CPUs" };
        let reason = self.dump.reason();
        format!("the machine had {count} {cpus}, and was inspected because {reason}\n")
    }

    /// Runs a command line, and returns what it shows; none to end.
    ///
    /// # Errors
    /// When there is no such command, it cannot use its arguments, or the dump is damaged where it looks.
    pub(super) fn run(&mut self, line: &str) -> Result<Option<String>> {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else {
            return Ok(Some(String::new()));
        };
        let command = COMMANDS.iter().find(|command| command.name == name);
        let command = command
            .with_context(|| format!("unknown command `{name}`; `help` lists the commands"))?;
        let shown = (command.run)(self, &words.collect::<Vec<_>>())?;
        self.dump.check()?;
        Ok(shown)
    }

    fn backtrace(&mut self, words: &[&str]) -> Result<Option<String>> {
        let text = match *words {
            [] => self.asked.cpu(&mut *self.dump, self.cpu)?,
            ["task", task] => {
                let task = number(task)?;
                let text = self.asked.task(&mut *self.dump, task)?;
                if text.is_empty() {
                    bail!(
                        "task {task} does not exist or runs on a CPU; `tasks` lists the waiting tasks"
                    );
                }
                text
            }
            [cpu] => self.asked.cpu(&mut *self.dump, number(cpu)?)?,
            _ => bail!("expected a CPU number, or `task` followed by a task number"),
        };
        Ok(Some(text))
    }

    fn report(&mut self, words: &[&str]) -> Result<Option<String>> {
        expect_no_more(words.iter().copied())?;
        let reason = self.dump.reason().to_owned();
        let text = Outside::new(&self.path).report(&mut *self.dump, &reason)?;
        Ok(Some(text))
    }

    fn look_at(&mut self, words: &[&str]) -> Result<Option<String>> {
        let [cpu] = *words else {
            bail!("expected a CPU number");
        };
        let cpu = number(cpu)?;
        let text = self.asked.cpu(&mut *self.dump, cpu)?;
        self.cpu = cpu;
        let line = text.lines().next().unwrap_or_default();
        Ok(Some(format!("{line}\n")))
    }

    fn registers(&mut self, words: &[&str]) -> Result<Option<String>> {
        expect_no_more(words.iter().copied())?;
        let mut text = String::new();
        for (name, value) in self.dump.registers(self.cpu)? {
            let points_to = self.lies_at(value);
            writeln!(text, "{name:<14} {value:#018x}{points_to}")?;
        }
        Ok(Some(text))
    }

    fn look_up(&mut self, words: &[&str]) -> Result<Option<String>> {
        let [text] = *words else {
            bail!("expected an address");
        };
        let address = address(text, &self.asked)?;
        let found = match self.asked.lies_at(address) {
            found if found.is_empty() => " not in the image".to_owned(),
            found => found,
        };
        Ok(Some(format!("{address:#018x}:{found}\n")))
    }

    fn memory(&mut self, words: &[&str]) -> Result<Option<String>> {
        let (start, count) = match *words {
            [start] => (start, WORDS),
            [start, count] => (start, number(count)?),
            _ => bail!("expected an address, optionally followed by a count"),
        };
        let size = self.asked.word_size();
        let digits = 2 + 2 * size as usize;
        let start = address(start, &self.asked)? & !(size - 1);
        let (mut text, mut last) = (String::new(), String::new());
        for nth in 0..expect_few(count)? {
            let Some(at) = start.checked_add(nth * size) else {
                break;
            };
            match self.asked.word(&mut *self.dump, self.cpu, at) {
                Some(word) => {
                    let (title, part) = self.asked.static_at(at);
                    // Once for all words of a static.
                    if title != last && !title.is_empty() {
                        writeln!(text, "{title}")?;
                    }
                    last = title;
                    let part = if part.is_empty() {
                        part
                    } else {
                        format!(" {part}")
                    };
                    let points_to = self.lies_at(word);
                    writeln!(text, "{at:#018x}: {word:#0digits$x}{part}{points_to}")?;
                }
                None => {
                    writeln!(text, "{at:#018x}: not mapped")?;
                    break;
                }
            }
        }
        Ok(Some(text))
    }

    fn code(&mut self, words: &[&str]) -> Result<Option<String>> {
        let pc = self.dump.state(self.cpu)?.pc;
        let (start, count) = match *words {
            [] => (pc, INSTRUCTIONS),
            [start] => (address(start, &self.asked)?, INSTRUCTIONS),
            [start, count] => (address(start, &self.asked)?, number(count)?),
            _ => bail!("expected an address, optionally followed by a count"),
        };
        expect_few(count as u64)?;
        let arch = self.asked.arch();
        if arch == Processor::Aarch64 && !start.is_multiple_of(4) {
            bail!("the address of an AArch64 instruction must be a multiple of 4");
        }
        let bytes = self.bytes(start, count as u64 * LONGEST);
        if bytes.is_empty() {
            bail!("no memory is mapped at {start:#018x}");
        }
        let mut text = String::new();
        let mut last = None;
        for (at, instruction) in disassemble(arch, start, &bytes).take(count) {
            // Once for all instructions of a line.
            let line = self.asked.line(at);
            if last.as_ref() != Some(&line) {
                let shown = if line.is_empty() {
                    "no source line"
                } else {
                    line.trim_start()
                };
                writeln!(text, "{shown}:")?;
                last = Some(line);
            }
            let mark = if at == pc { "=>" } else { "  " };
            writeln!(text, "{mark} {at:#018x}  {instruction}")?;
        }
        Ok(Some(text))
    }

    /// The first line of what lies there, of a value that may be an address.
    fn lies_at(&self, address: u64) -> String {
        let found = self.asked.lies_at(address);
        found.lines().next().unwrap_or_default().to_owned()
    }

    /// Bytes of memory, as far as it is mapped.
    fn bytes(&mut self, start: u64, count: u64) -> Vec<u8> {
        let size = self.asked.word_size();
        let first = start & !(size - 1);
        let words = (first..start.saturating_add(count)).step_by(size as usize);
        let words = words.map_while(|at| self.asked.word(&mut *self.dump, self.cpu, at));
        let bytes = words.flat_map(|word| word.to_le_bytes().into_iter().take(size as usize));
        bytes.skip((start - first) as usize).collect()
    }
}

fn expect_few(count: u64) -> Result<u64> {
    match count {
        1..=MOST => Ok(count),
        _ => bail!("expected a count from 1 to {MOST}"),
    }
}
