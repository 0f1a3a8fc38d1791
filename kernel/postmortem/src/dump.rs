//! After a report: registers and stacks of all CPUs and tasks, as lines of text, for a host that asks the dead machine more.
//!
//! ```text
//! dump begin 2 x86_64 0123456789abcdef 0xffffffff80102030 7b20c1d4 5d1c9f0a
//! dump cpu 0 rip 0xffffffff80106000 rsp 0xffffffff80170ff8 rbp 0x0000000000000000 3a0b11c2
//! dump cpu 1 does not answer 90f1e2d3
//! dump at 0xffffffff80170ff8 ERMSEwgA 1b2c3d4e
//! dump end 4 7b20c1d4 77665544
//! ```
//!
//! | line | what it says |
//! |---|---|
//! | `begin` | the version of this format, the architecture, the build id in hexadecimal digits, `-` if it is not known, the address of `postmortem_read`, which tells how far the image was moved, and the mark of this dump |
//! | `cpu` | the registers of this CPU, as far as they are known; or that it does not answer |
//! | `more` | further registers of this CPU, without which a walk is possible |
//! | `at` | words of memory from this address on, of 32 bits on 32-bit ARM, of 64 elsewhere: packed as in `lines/pack.rs`, then in base64 |
//! | `end` | how many lines came before it, and the mark again: without it, lines are of two dumps, of which the first was cut off |
//!
//! Each ends with the CRC-32 (that of zlib) of what is before it in the line, without the space. So a line that a serial line has
//! damaged is told from a whole one, a lost one is missed, and each is understood without the others.

use core::fmt;

use unwind::{Range, RegisterSet as _};

use crate::arch::{NAME, Registers, all, write_needed};
use crate::lines::{Lines, VERSION, write_image};
use crate::postmortem::{Cpus, Dump, Postmortem};
use crate::probe;
use crate::stack::{Owner, Stack};

/// Bytes below a stack pointer that may be in use: the x86-64 psABI's red zone.
const RED_ZONE: u64 = 128;

impl Postmortem {
    /// After the report that ends the kernel, sends what a host needs to ask the dead machine more, if `is_wanted` says so then: the
    /// registers of all CPUs, their stacks and those of tasks, and [`Platform::noted`](crate::Platform::noted). That takes a second for
    /// each 10 KB at 115,200 bits a second; of a stack the part in use is sent, and what is zero takes next to nothing.
    ///
    /// `unwind-qemu autopsy LOG --image KERNEL` has the answers, `autopsy -i` asks on, and `unwind-qemu serial --dump` keeps what a
    /// board sends as a dump.
    #[must_use]
    pub const fn with_dump(mut self, is_wanted: fn() -> bool) -> Self {
        self.dump = Some(Dump {
            is_wanted,
            write: |postmortem, cpus| postmortem.write_dump(cpus),
        });
        self
    }

    fn write_dump(&'static self, cpus: &dyn Cpus) {
        let image = self.platform.image();
        let begin = |out: &mut dyn fmt::Write| {
            write!(out, "begin {VERSION} {NAME} ")?;
            write_image(out, &image)
        };
        // The device takes everything.
        let _ = Lines::send_all(self, "dump", &begin, &|lines| self.write_lines(lines, cpus));
    }

    fn write_lines(&'static self, lines: &mut Lines, cpus: &dyn Cpus) -> fmt::Result {
        for cpu in self.running(cpus.this()) {
            write_cpu(lines, cpus, cpu)?;
        }
        for stack in self.stacks().iter() {
            let is_there = match stack.owner {
                Owner::Cpu(_, cpu) => cpu == cpus.this() || self.platform.is_online(cpu),
                Owner::Task(task) => self.platform.task(task).is_some(),
            };
            if is_there {
                let from = self.lowest_on(&stack, cpus);
                let from = from.unwrap_or(stack.words.start);
                lines.memory(Range::new(from, stack.words.end), read)?;
            }
        }
        for range in (0..).map_while(|index| self.platform.noted(index)) {
            let start = range.start.next_multiple_of(Registers::WORD);
            lines.memory(Range::new(start, range.end), read)?;
        }
        Ok(())
    }

    /// Where the part of a stack begins that is in use, if whoever is on it can be asked: a CPU, or a task that does not run. What was
    /// interrupted on it, and goes on elsewhere, cannot: its trap frame is on another stack.
    fn lowest_on(&self, stack: &Stack, cpus: &dyn Cpus) -> Option<u64> {
        let cpus = self.running(cpus.this()).filter_map(|cpu| cpus.of(cpu));
        let tasks = (0..self.platform.tasks()).filter_map(|task| self.platform.task(task));
        let of_cpus = cpus.map(|(registers, _)| registers.sp());
        let of_tasks = tasks.filter_map(|task| task.registers).map(|it| it.sp());
        let on_it = of_cpus.chain(of_tasks).filter(|sp| stack.holds(*sp));
        let lowest = on_it.min()?.saturating_sub(RED_ZONE) & !7;
        Some(lowest.max(stack.words.start))
    }
}

/// The registers of a CPU, or that they are not known.
fn write_cpu(lines: &mut Lines, cpus: &dyn Cpus, cpu: usize) -> fmt::Result {
    let Some((registers, frame)) = cpus.of(cpu) else {
        return lines.line(|out| write!(out, "cpu {cpu} does not answer"));
    };
    lines.line(|out| {
        write!(out, "cpu {cpu}")?;
        write_needed(out, &registers, frame)
    })?;
    let mut more = frame.into_iter().flat_map(all).peekable();
    while more.peek().is_some() {
        lines.line(|out| {
            write!(out, "more {cpu}")?;
            let mut few = more.by_ref().take(4);
            few.try_for_each(|(name, value)| write!(out, " {name} {value:#018x}"))
        })?;
    }
    Ok(())
}

/// A word of a stack, or of what the kernel notes.
fn read(address: u64) -> Option<u64> {
    // SAFETY: aligned, as `Lines::memory` asks for one word behind the other from an aligned one on, and not a device, as `Platform` promises
    // for the words of every stack, and for what it has noted.
    unsafe { probe::read(address) }
}
