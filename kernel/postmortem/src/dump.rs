//! Dumps: after a report, the registers and stacks of all CPUs and tasks as lines of text, for further queries on a host.
//!
//! ```text
//! dump begin 2 x86_64 0123456789abcdef 0xffffffff80102030 7b20c1d4 5d1c9f0a
//! dump cpu 0 rip 0xffffffff80106000 rsp 0xffffffff80170ff8 rbp 0x0000000000000000 3a0b11c2
//! dump cpu 1 does not answer 90f1e2d3
//! dump at 0xffffffff80170ff8 ERMSEwgA 1b2c3d4e
//! dump end 4 7b20c1d4 77665544
//! ```
//!
//! | line | content |
//! |---|---|
//! | `begin` | the version of this format; the architecture; the build id in hexadecimal digits, or `-` if it is not known; the address of `postmortem_read`, which shows how far the image was moved; the mark of this dump |
//! | `cpu` | the known registers of this CPU, or that the CPU does not answer |
//! | `more` | further registers of this CPU, without which a walk is possible |
//! | `at` | words of memory from this address on, of 32 bits on 32-bit ARM, of 64 bits elsewhere: packed as in `lines/pack.rs`, then in base64 |
//! | `end` | the number of preceding lines, and the mark again: if the mark is missing, the lines belong to two dumps, and the first dump was cut off |
//!
//! Each line ends with a CRC-32 (the variant of zlib) of the preceding text of the line, without the space. Therefore a host detects
//! damaged lines and missing lines, and can use each line without the others.

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
    /// Sends a dump after the report that ends the kernel, if `is_wanted` then returns true.
    ///
    /// The dump contains the registers of all CPUs, the used part of each stack, and the memory of
    /// [`Platform::noted`](crate::Platform::noted). At 115,200 bits a second, 10 KB take one second; words of zero are packed into almost
    /// nothing.
    ///
    /// `unwind-qemu autopsy LOG --image KERNEL` evaluates the dump, `autopsy -i` answers queries, and `unwind-qemu serial --dump` stores
    /// what a board sends.
    ///
    /// ```no_run
    /// use postmortem::{PerCpu, Platform, Postmortem};
    ///
    /// static PER_CPU: [PerCpu; 1] = [PerCpu::new()];
    ///
    /// const fn reports(kernel: &'static dyn Platform) -> Postmortem {
    ///     Postmortem::new(kernel, &PER_CPU).with_dump(|| true)
    /// }
    /// ```
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

    /// The start of the used part of a stack, if its user is known: a CPU, or a task that does not run. It is not known for interrupted
    /// code that continues elsewhere, because its trap frame is on another stack.
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
    // SAFETY: the address is aligned, because `Lines::memory` reads one word after the other from an aligned address, and it is not a
    // device's: the implementation of `Platform` guarantees that for the words of every stack, and for the memory of `noted`.
    unsafe { probe::read(address) }
}
