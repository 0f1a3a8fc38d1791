//! From registers to a trace: the only place that uses the unwinder.

use core::cell::Cell;
use core::fmt::{self, Write};

use unwind::markup::{self, Segment};
use unwind::report::{Text, write_bytes};
use unwind::symbols::{SymbolTable, SymbolsError, format};
use unwind::{
    CodeReader, Doubt, End, Event, MAX_STACKS, Range, RegisterSet as _, Trace, Unwinder, compact,
};

use crate::arch::{Registers, TrapFrame, for_walk, frames};
use crate::image::Image;
use crate::module::{Loaded, Rows, names};
use crate::modules::Reading;
use crate::platform::Platform;
use crate::regions::Regions;
use crate::stack::{Rank, Stack};
use crate::stacks::Stacks;
use crate::words::Words;
use crate::x86_64::LastMachineCheck;

/// How many of the first and of the last frames to show of a recursion that has filled its stack.
pub(crate) const SHOWN: (u32, u32) = (256, 32);

/// A walk from given registers to the outermost caller, on the stacks of one CPU and of all tasks. A [`WriteTrace`](crate::WriteTrace)
/// function gets it, and chooses the form in which the trace is written.
///
/// ```no_run
/// # const fn reports(kernel: &'static dyn postmortem::Platform, per_cpu: &'static [postmortem::PerCpu]) -> postmortem::Postmortem {
/// // Text, with the registers of every interrupted frame.
/// postmortem::Postmortem::new(kernel, per_cpu).with_traces(|walk, out| walk.write(out, true))
/// # }
/// ```
pub struct Walk {
    platform: &'static dyn Platform,
    /// The last machine check of the CPU, for the text of one.
    noted: &'static LastMachineCheck,
    image: Image,
    /// The image's code that can be read.
    regions: Regions,
    modules: Option<Reading>,
    registers: Registers,
    /// The task that does not run, if it is one, with the registers that it has saved.
    task: Option<Waiting>,
    ranges: [Range; MAX_STACKS],
    count: usize,
    /// How many stacks more there are than a walk can use.
    left_out: usize,
}

/// A task that does not run, as far as is known.
#[derive(Clone, Copy)]
struct Waiting {
    number: usize,
    saved: Registers,
    /// Another CPU runs, which may run the task.
    others_run: bool,
}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Walk from {:x?}", self.registers)
    }
}

impl Walk {
    /// Not inlined: the ranges take a kilobyte of stack, only as long as a trace is being written.
    #[inline(never)]
    pub(crate) fn new(
        platform: &'static dyn Platform,
        noted: &'static LastMachineCheck,
        image: Image,
        regions: Regions,
        cpu: usize,
        registers: Registers,
    ) -> Self {
        let mut ranges = [Range::new(0, 0); MAX_STACKS];
        let task = || platform.current_task(cpu);
        let (count, left_out) = choose(
            || Stacks::of(platform).iter(),
            |stack| stack.rank(cpu, registers.sp(), task),
            &mut ranges,
        );
        Self {
            platform,
            noted,
            image,
            regions,
            modules: Reading::begin(),
            registers: for_walk(registers),
            task: None,
            ranges,
            count,
            left_out,
        }
    }

    /// The same walk of the task with this number, with whose saved registers it begins. If the task may run during the walk, because
    /// other CPUs run, or if it has other registers at the end, the list is in doubt.
    #[must_use]
    pub(crate) const fn of_task(
        mut self,
        number: usize,
        saved: Registers,
        others_run: bool,
    ) -> Self {
        self.task = Some(Waiting {
            number,
            saved,
            others_run,
        });
        self
    }

    /// Whether the task of the walk may have run since the walk has begun.
    fn may_have_run(&self) -> bool {
        self.task.is_some_and(|task| {
            let now = self
                .platform
                .task(task.number)
                .and_then(|task| task.registers);
            task.others_run || now != Some(task.saved)
        })
    }

    /// Writes how many stacks the walk does not use, in a line, if there are any.
    fn write_left_out(&self, out: &mut dyn Write) -> fmt::Result {
        match self.left_out {
            0 => Ok(()),
            count => writeln!(
                out,
                "the backtrace omits {count} of the declared stacks, because a walk uses at most {MAX_STACKS} stacks"
            ),
        }
    }

    /// Walks, and passes the trace to `listener` as events. The events are the same for every form of text.
    ///
    /// # Errors
    /// Returns the first error of `listener`, which ends the trace.
    pub fn tell(
        &self,
        listener: &mut dyn FnMut(&Event<'_, Registers>) -> fmt::Result,
    ) -> fmt::Result {
        let stacks: Stacks<'static> = Stacks::of(self.platform);
        let ranges = self.ranges.get(..self.count).unwrap_or_default();
        let memory = unwind::Stacks::new(ranges, move |address| stacks.read_word(address));
        let (modules, module_code) = match &self.modules {
            Some(reading) => (reading.modules(), reading.code()),
            None => (&[][..], &[][..]),
        };
        let tables = self.image.rows();
        let rows = Rows::new(&tables, modules);
        // Checked at the first frame that needs it, and known from then on.
        let of_image = Cell::new(None);
        let function_at = |pc| self.function_at(modules, &of_image, pc);
        let rows = CodeReader::<Registers, _>::new(&rows, &function_at);
        let (code, count) = self.regions.code();
        let unwinder = Unwinder::new(&rows)
            .code(code.get(..count).unwrap_or_default())
            .more_code(module_code)
            .trap_registers(self.platform.trap_code().saved);
        Trace::new(frames(&unwinder, self.registers, memory))
            .ends(SHOWN.0, SHOWN.1)
            .tell(&mut |event| match *event {
                Event::End {
                    end,
                    doubt: None,
                    count,
                } if self.may_have_run() => listener(&Event::End {
                    end: if end.is_complete() {
                        End::Outermost
                    } else {
                        end
                    },
                    doubt: Some(Doubt::may_have_run()),
                    count,
                }),
                _ => listener(event),
            })
            .map(|_| ())
    }

    /// Calls `write` with the form of text for events: with names from `symbols` and, if `with_registers` is true, the registers of every
    /// interrupted frame.
    ///
    /// # Errors
    /// Returns an error if `write` does.
    pub fn with_text(
        &self,
        symbols: Option<SymbolTable<'_>>,
        with_registers: bool,
        write: impl FnOnce(&Text<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let names = |pc| names(self.modules.as_ref()?.modules(), pc);
        let words = |out: &mut dyn Write, frame| self.write_interrupted(out, frame);
        let lines = |out: &mut dyn Write, frame| match with_registers {
            true => self.write_interrupted_registers(out, frame),
            false => Ok(()),
        };
        let text = Text::new(symbols).symbols_at(&names);
        write(&text.trap_words(&words).trap_lines(&lines))
    }

    /// Writes the trace as text, one line for each frame; if `with_registers` is true, with the registers of every interrupted frame.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write, with_registers: bool) -> fmt::Result {
        self.write_left_out(out)?;
        let symbols = write_symbols(&self.image, out)?;
        self.with_text(symbols, with_registers, |text| {
            self.tell(&mut |event| text.write(out, event))
        })
    }

    /// Writes the trace in lines of at most `width` characters, for a screen: see [`unwind::compact`].
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_compact(&self, out: &mut dyn Write, width: usize) -> fmt::Result {
        self.write_left_out(out)?;
        let symbols = parse_symbols(&self.image).ok().and_then(Result::ok);
        self.with_text(symbols, false, |text| {
            self.tell(&mut |event| compact::write(out, text, event, width))
        })
    }

    /// Writes the trace as markup for a symbolizer on the host. The kernel must run at its link address.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_markup(&self, out: &mut dyn Write) -> fmt::Result {
        self.write_left_out(out)?;
        let code = self.image.code;
        let segment = Segment {
            start: code.address,
            size: code.bytes.len() as u64,
            access: "rx",
            file_address: code.address,
        };
        markup::write_context(out, "kernel", self.image.build_id, &[segment])?;
        self.with_text(None, false, |text| {
            self.tell(&mut |event| markup::write(out, text, event))
        })
    }

    /// The function with code at this address, if it has a name, for code without rows. The image's symbol table is parsed once, and stored
    /// in `of_image`; the inner `None` means that it cannot be used.
    fn function_at(
        &self,
        modules: &[Loaded],
        of_image: &Cell<Option<Option<SymbolTable<'static>>>>,
        pc: u64,
    ) -> Option<Range> {
        if let Some(names) = names(modules, pc) {
            return names.function_range(pc);
        }
        let table = of_image
            .get()
            .unwrap_or_else(|| parse_symbols(&self.image).ok().and_then(Result::ok));
        of_image.set(Some(table));
        table?.function_range(pc)
    }

    /// The trap frame at this stack pointer.
    fn trap_frame(&self, sp: Option<u64>) -> Option<TrapFrame> {
        let stacks = Stacks::of(self.platform);
        (self.platform.trap_code().read)(&|address| stacks.read_word(address), sp?)
    }

    fn write_interrupted(&self, out: &mut dyn Write, frame: Option<u64>) -> fmt::Result {
        match self.trap_frame(frame) {
            Some(frame) => {
                let words = Words::new(self.platform, self.noted, &frame);
                let place = Stacks::of(self.platform).place_of(&frame);
                write!(out, "{words}, {place}")
            }
            None => out.write_str("interrupted"),
        }
    }

    fn write_interrupted_registers(&self, out: &mut dyn Write, frame: Option<u64>) -> fmt::Result {
        match self.trap_frame(frame) {
            Some(frame) => frame.write_registers(&Stacks::of(self.platform), out),
            None => {
                out.write_str("  registers: not available, because the trap frame cannot be read\n")
            }
        }
    }
}

/// Writes the ranges of `stacks` to `ranges`, those with the lowest rank first, and none that has no rank. Returns how many, and how many
/// more there are than `ranges` has room for.
fn choose<I: Iterator<Item = Stack>>(
    stacks: impl Fn() -> I,
    rank: impl Fn(&Stack) -> Option<Rank>,
    ranges: &mut [Range],
) -> (usize, usize) {
    let (mut count, mut left_out): (usize, usize) = (0, 0);
    for next in [Rank::Start, Rank::Cpu, Rank::Others] {
        for stack in stacks().filter(|stack| rank(stack) == Some(next)) {
            match ranges.get_mut(count) {
                Some(range) => {
                    *range = stack.range();
                    count = count.saturating_add(1);
                }
                None => left_out = left_out.saturating_add(1),
            }
        }
    }
    (count, left_out)
}

/// The symbol table, if it can be used; otherwise writes why not.
pub(crate) fn write_symbols(
    image: &Image,
    out: &mut dyn Write,
) -> Result<Option<SymbolTable<'static>>, fmt::Error> {
    match parse_symbols(image) {
        Ok(Ok(table)) => Ok(Some(table)),
        Ok(Err(table)) => {
            out.write_str(
                "no function names, because .symbols belongs to another image, which has build id ",
            )?;
            write_bytes(out, table.build_id())?;
            out.write_str("\n")?;
            Ok(None)
        }
        Err(error) => {
            writeln!(
                out,
                "no function names, because .symbols cannot be used: {error}"
            )?;
            Ok(None)
        }
    }
}

/// The symbol table of an image; or, in the inner error, that of another one.
fn parse_symbols(
    image: &Image,
) -> Result<Result<SymbolTable<'static>, SymbolTable<'static>>, SymbolsError> {
    let table = SymbolTable::parse(image.symbols.bytes, image.symbols.address)?;
    // The table has no more of a build id.
    let most = image.build_id.len().min(format::BUILD_ID_MAX);
    let is_own = most == 0 || image.build_id.get(..most) == Some(table.build_id());
    Ok(if is_own { Ok(table) } else { Err(table) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{NO_CPU, Owner};

    /// The stacks of 100 tasks, then one of each of two CPUs.
    fn stacks() -> impl Iterator<Item = Stack> {
        let owners = (0..100).map(Owner::Task);
        let owners = owners.chain([Owner::Cpu("boot", 0), Owner::Cpu("boot", 1)]);
        owners.zip(1..).map(|(owner, number)| {
            let words = Range::new(number * 0x1000, number * 0x1000 + 0x800);
            Stack {
                owner,
                ..Stack::new("", 0, words)
            }
        })
    }

    #[test]
    fn the_stacks_that_a_walk_begins_on_come_before_those_of_other_tasks() {
        let number = |range: &Range| (range.start / 0x1000) - 1;
        let chosen = |cpu, sp, task| {
            let mut ranges = [Range::new(0, 0); MAX_STACKS];
            let rank = |stack: &Stack| stack.rank(cpu, sp, || task);
            let (count, left_out) = choose(stacks, rank, &mut ranges);
            assert_eq!(count, MAX_STACKS);
            (ranges.map(|range| number(&range)), left_out)
        };
        let (ranges, left_out) = chosen(1, 91 * 0x1000, 80);
        assert_eq!((&ranges[..5], left_out), (&[90, 80, 101, 0, 1][..], 37));
        // On no CPU: nobody is asked which task it runs.
        let rank = |stack: &Stack| stack.rank(NO_CPU, 100 * 0x1000, || unreachable!());
        let mut ranges = [Range::new(0, 0); 2];
        assert_eq!(choose(stacks, rank, &mut ranges), (2, 98));
        assert_eq!(ranges.map(|range| number(&range)), [99, 0]);
        let few = || stacks().skip(99);
        let mut ranges = [Range::new(0, 0); 4];
        let rank = |stack: &Stack| stack.rank(0, 0, || 0);
        assert_eq!(choose(few, rank, &mut ranges), (2, 0));
    }
}
