//! The text: a report, as a kernel would write it of its CPUs and tasks.

use std::fmt::Write;

use anyhow::Result;

use super::image::Image;
use super::memory::Memory;
use super::program::Known;
use super::tasks::write_tasks;
use super::told::Told;
use super::walk::walk;
use super::{moved, names};
use crate::machine::Source;
use crate::stub::{Level, Registers, State};

/// Says where all CPUs are.
pub(super) fn tell(
    kernel: &Known,
    programs: &[Known],
    source: &mut dyn Source,
    reason: &str,
) -> Result<String> {
    let Known {
        image, symbolizer, ..
    } = kernel;
    let cpus = source.cpus()?;
    let states: Vec<_> = (0..cpus.len()).map(|cpu| source.state(cpu)).collect();
    let by = moved::moved_by(image, source, &states);
    let image = &image.moved(by).compared(source, &states);
    let build = match symbolizer.build_id() {
        Some(id) => format!("build {id}"),
        None => "no build id".to_owned(),
    };
    let (arch, count, tables) = (image.arch, cpus.len(), image);
    let mut told = Told::new(image, symbolizer);
    writeln!(
        told,
        "inspected by the runner, because {reason}: {count} {cpus}, {arch}, {build}, {tables}",
        cpus = if count == 1 { "CPU" } else { "CPUs" }
    )?;
    for ((cpu, is_halted), state) in cpus.into_iter().enumerate().zip(states) {
        let state = match state {
            Ok(state) => state,
            Err(error) => {
                writeln!(told, "cannot inspect cpu {cpu}: {error:#}")?;
                continue;
            }
        };
        let is_kernel = state.level == Level::Kernel && image.is_code(state.pc);
        let (place, registers) = match state.level {
            _ if is_kernel => ("in user code", None),
            Level::Kernel => ("outside the image", Some(state.registers)),
            Level::User => ("in user mode", Some(state.registers)),
            Level::Narrow => ("", None),
        };
        let place = format!("cpu {cpu} {place}");
        // Of what is not the kernel's its image says more, if somebody has it.
        if let Some(registers) = registers
            && let Some(more) = in_program(programs, source, cpu, registers, &place)?
        {
            told.write_str(&more)?;
            continue;
        }
        let reached = write_cpu(&mut told, image, source, cpu, &state, is_halted)?;
        if let Some(registers) = reached
            && let Some(more) = in_program(programs, source, cpu, registers, &place)?
        {
            told.write_str(&more)?;
        }
    }
    write_tasks(&mut told, image, source)?;
    Ok(told.into_text())
}

/// What the image of the program says whose code this is, if it is known.
fn in_program(
    programs: &[Known],
    source: &mut dyn Source,
    cpu: usize,
    registers: Registers,
    place: &str,
) -> Result<Option<String>> {
    let mut fitting = Vec::new();
    for program in programs {
        let image = program.running(source, cpu, registers.pc());
        fitting.extend(image.map(|image| (program, image)));
    }
    let mut fitting = fitting.into_iter();
    let Some((program, image)) = fitting.next() else {
        return Ok(None);
    };
    let memory = Memory::new(source, cpu);
    let others: Vec<_> = fitting.map(|(other, _)| other.name.as_str()).collect();
    let told = program.tell(&image, &memory, registers, place, &others)?;
    Ok(Some(told))
}

/// Says where a CPU is. Returns the registers of the user code that it goes back to, if it does.
pub(super) fn write_cpu(
    out: &mut Told<'_>,
    image: &Image,
    source: &mut dyn Source,
    cpu: usize,
    state: &State,
    is_halted: bool,
) -> Result<Option<Registers>> {
    let pc = state.pc;
    let halted = if is_halted { ", halted" } else { "" };
    let interrupts_masked = if state.is_masked {
        ", interrupts masked"
    } else {
        ""
    };
    match state.level {
        Level::Kernel => {}
        Level::User => {
            writeln!(out, "cpu {cpu} is in user mode, at {pc:#018x}{halted}")?;
            return Ok(None);
        }
        Level::Narrow => {
            writeln!(
                out,
                "cpu {cpu} is not in 64-bit mode, at {pc:#018x}{interrupts_masked}{halted}"
            )?;
            return Ok(None);
        }
    }
    let memory = Memory::new(source, cpu);
    let stack = match names::stack(image, &memory, state.sp) {
        Some(name) => format!(", stack {name}"),
        None if image.stacks.is_empty() => String::new(),
        None => ", in no stack".to_owned(),
    };
    if is_halted && !image.is_code(pc) {
        // Firmware keeps it there, or nobody has started it.
        writeln!(
            out,
            "cpu {cpu} is halted outside the image, at {pc:#018x}{interrupts_masked}"
        )?;
        return Ok(None);
    }
    writeln!(
        out,
        "cpu {cpu}, stopped at {pc:#018x}{stack}{interrupts_masked}{halted}"
    )?;
    let ranges = image.ranges(cpu, state.sp);
    Ok(match state.registers {
        Registers::X86(registers) => {
            let user = walk(out, image, &memory, &ranges, registers)?;
            user.map(Registers::X86)
        }
        Registers::Arm(registers) => {
            let user = walk(out, image, &memory, &ranges, registers)?;
            user.map(Registers::Arm)
        }
        Registers::Arm32(registers) => {
            let user = walk(out, image, &memory, &ranges, registers)?;
            user.map(Registers::Arm32)
        }
    })
}
