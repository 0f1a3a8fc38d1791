//! The tasks that do not run, of a kernel that says where they are noted.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use portable::task_state::State;
use unwind::{Doubt, aarch64, arm, x86_64};

use super::image::Image;
use super::memory::Memory;
use super::told::Told;
use super::walk::{stacks, walk_in_doubt};
use super::{names, resumed};
use crate::hardware::Processor;
use crate::machine::Source;
use crate::stacks::Tasks;
use crate::stub::{Level, Registers};

/// The CPU whose page tables are used: every CPU's have the kernel.
const CPU: usize = 0;

/// Says of each task that does not run what it waits for, and where.
pub(super) fn write_tasks(
    out: &mut Told<'_>,
    image: &Image,
    source: &mut dyn Source,
) -> fmt::Result {
    let Some(tasks) = image.tasks else {
        return Ok(());
    };
    let in_use = InUse::of(image, source);
    let memory = Memory::new(source, CPU);
    for number in 0..tasks.count {
        if !write(out, image, &memory, tasks, number, &in_use)? {
            let left = tasks.count - number;
            writeln!(
                out,
                "cannot read task {number}; this task and all tasks with higher numbers are omitted (at most {left} tasks)"
            )?;
            break;
        }
    }
    Ok(())
}

/// Says of one task what it waits for, and where: nothing if it runs, or there is no such task.
pub(super) fn write_task(
    out: &mut Told<'_>,
    image: &Image,
    source: &mut dyn Source,
    number: u64,
) -> fmt::Result {
    if let Some(tasks) = image.tasks.filter(|tasks| number < tasks.count) {
        let in_use = InUse::of(image, source);
        let memory = Memory::new(source, CPU);
        if !write(out, image, &memory, tasks, number, &in_use)? {
            writeln!(out, "cannot read task {number}")?;
        }
    }
    Ok(())
}

/// Which stacks CPUs use.
struct InUse {
    /// Where the stacks begin that CPUs are on, or will be back on. A task that has one of these still runs, or does so again, whatever is
    /// noted of it: its CPU has left it only when it has left its stack.
    stacks: BTreeSet<u64>,
    /// A CPU cannot be asked, and may be on any stack.
    may_be_any: bool,
}

impl InUse {
    fn of(image: &Image, source: &mut dyn Source) -> Self {
        let cpus = source.cpus();
        let mut in_use = Self {
            stacks: BTreeSet::new(),
            may_be_any: cpus.is_err(),
        };
        for cpu in 0..cpus.map_or(0, |cpus| cpus.len()) {
            let Ok(state) = source.state(cpu) else {
                in_use.may_be_any = true;
                continue;
            };
            if state.level != Level::Kernel {
                continue;
            }
            let memory = Memory::new(source, cpu);
            let ranges = image.ranges(cpu, state.sp);
            in_use.stacks.append(&mut match state.registers {
                Registers::X86(registers) => stacks(image, &memory, &ranges, registers),
                Registers::Arm(registers) => stacks(image, &memory, &ranges, registers),
                Registers::Arm32(registers) => stacks(image, &memory, &ranges, registers),
            });
        }
        in_use
    }
}

/// The same; `false` if its words cannot be read.
fn write(
    out: &mut Told<'_>,
    image: &Image,
    memory: &Memory<'_>,
    tasks: Tasks,
    number: u64,
    in_use: &InUse,
) -> Result<bool, fmt::Error> {
    let at = names::begin(tasks, number);
    let words = memory.word(at).zip(memory.word(at.wrapping_add(8)));
    let Some((state, sp)) = words else {
        return Ok(false);
    };
    let Some(state) = State::of(state) else {
        let task = names::task(memory, tasks, number);
        writeln!(out, "task {task}: the task state {state:#x} is unknown")?;
        return Ok(true);
    };
    // Whoever runs has no stack pointer there, or an old one.
    let stack = image.stack(sp);
    if sp == 0 || stack.is_some_and(|stack| in_use.stacks.contains(&stack.range.start)) {
        return Ok(true);
    }
    let activity = match state {
        State::Free | State::Ended => return Ok(true),
        State::Runs(_) => "is about to run".to_owned(),
        State::Ready => "ready".to_owned(),
        State::Sleeps(tick) => format!("sleeps until tick {tick}"),
        State::Joins(other) => {
            let other = names::task(memory, tasks, other as u64);
            format!("waits for task {other} to end")
        }
        State::Locks => match names::lock(memory, tasks, number) {
            Some(waits) => waits,
            None => "waits for a lock".to_owned(),
        },
        State::Idles => "has nothing to do".to_owned(),
    };
    let stack = names::stack(image, memory, sp);
    let stack = stack.as_deref().unwrap_or("unknown");
    let task = names::task(memory, tasks, number);
    writeln!(out, "task {task}: {activity}, stack {stack}")?;
    let ranges = image.ranges_of_tasks();
    let doubt = in_use.may_be_any.then(Doubt::may_have_run);
    match image.arch {
        Processor::X86_64 => {
            let registers = x86_64::Registers::new(tasks.resume, sp, 0);
            walk_in_doubt(out, image, memory, &ranges, registers, doubt)?;
        }
        Processor::Aarch64 => {
            let registers = aarch64::Registers::new(tasks.resume, sp, 0, 0);
            walk_in_doubt(out, image, memory, &ranges, registers, doubt)?;
        }
        Processor::Armv7a => {
            // Where the code in memory is another, nobody knows what it loads.
            let is_same = image.is_in_memory(memory, tasks.resume) != Some(false);
            let resumed = resumed::registers(image, memory, tasks.resume, sp);
            let registers = resumed.filter(|_| is_same).unwrap_or_else(|| {
                let mut registers = arm::Registers::new(tasks.resume, sp, 0, 0);
                registers.lr = None;
                registers
            });
            walk_in_doubt(out, image, memory, &ranges, registers, doubt)?;
        }
    }
    Ok(true)
}
