//! The text: a report, as a kernel would write it of its CPUs.

use std::fmt::{self, Write};

use anyhow::Result;
use unwind::report::Text;
use unwind::{Event, RegisterSet, Stacks, Trace, Unwinder};

use super::image::Image;
use super::memory::Memory;
use crate::decode::{Decoder, Style, Symbolizer};
use crate::machine::Stopped;
use crate::stub::{Level, Registers, State};

/// How many of the first and of the last frames to show of a recursion, as a kernel does.
const SHOWN: (u32, u32) = (256, 32);

/// Says where all CPUs are.
pub(super) fn tell(
    image: &Image,
    symbolizer: &Symbolizer,
    stopped: &mut Stopped<'_>,
    reason: &str,
) -> Result<String> {
    let cpus = stopped.cpus()?;
    let build = match symbolizer.build_id() {
        Some(id) => format!("build {id}"),
        None => "no build id".to_owned(),
    };
    let (arch, count) = (image.arch, cpus.len());
    let mut text = format!(
        "asked from outside, as {reason}: {count} {}, {arch}, {build}, {image}\n",
        if count == 1 { "CPU" } else { "CPUs" }
    );
    for (cpu, is_halted) in cpus.into_iter().enumerate() {
        match stopped.state(cpu) {
            Ok(state) => write_cpu(&mut text, image, stopped, cpu, &state, is_halted)?,
            Err(error) => writeln!(text, "cpu {cpu} cannot be asked: {error:#}")?,
        }
    }
    let mut named = Vec::new();
    let mut decoder = Decoder::new(symbolizer, Style::short(), &mut named);
    decoder.add(text.as_bytes())?;
    decoder.finish()?;
    Ok(String::from_utf8_lossy(&named).into_owned())
}

fn write_cpu(
    out: &mut String,
    image: &Image,
    stopped: &mut Stopped<'_>,
    cpu: usize,
    state: &State,
    is_halted: bool,
) -> Result<()> {
    let pc = state.pc;
    let waits = if is_halted { ", halted" } else { "" };
    let masked = if state.is_masked {
        ", interrupts masked"
    } else {
        ""
    };
    match state.level {
        Level::Kernel => {}
        Level::User => {
            writeln!(out, "cpu {cpu} is in user mode, at {pc:#018x}{waits}")?;
            return Ok(());
        }
        Level::Narrow => {
            writeln!(
                out,
                "cpu {cpu} is not in 64-bit mode, at {pc:#018x}{masked}{waits}"
            )?;
            return Ok(());
        }
    }
    let stack = match image.stack(state.sp) {
        Some(name) => format!(", stack {name}"),
        None if image.stacks.is_empty() => String::new(),
        None => ", in no stack".to_owned(),
    };
    if is_halted && !image.is_code(pc) {
        // Firmware keeps it there, or nobody has started it.
        writeln!(
            out,
            "cpu {cpu} is halted outside the image, at {pc:#018x}{masked}"
        )?;
        return Ok(());
    }
    writeln!(
        out,
        "cpu {cpu}, stopped at {pc:#018x}{stack}{masked}{waits}"
    )?;
    let memory = Memory::new(stopped, cpu);
    match state.registers {
        Registers::X86(registers) => walk(out, image, &memory, cpu, registers)?,
        Registers::Arm(registers) => walk(out, image, &memory, cpu, registers)?,
    }
    Ok(())
}

fn walk<R: RegisterSet>(
    out: &mut String,
    image: &Image,
    memory: &Memory<'_, '_>,
    cpu: usize,
    registers: R,
) -> fmt::Result {
    let code = image.code();
    let ranges = image.ranges(cpu, registers.sp());
    let unwinder = Unwinder::new(image.rows())
        .code(&code)
        .trap_registers(image.saved());
    let stacks = Stacks::new(&ranges, |address| memory.word(address));
    let text = Text::new(None);
    let mut was_interrupted = false;
    Trace::new(unwinder.frames(registers, stacks))
        .ends(SHOWN.0, SHOWN.1)
        .tell(&mut |event| {
            if let Event::Interrupted(_) = event {
                was_interrupted = true;
                return Ok(());
            }
            if let Event::Frame(_, frame) = event
                && std::mem::take(&mut was_interrupted)
            {
                let sp = frame.registers.map_or(0, |registers| registers.sp());
                match image.stack(sp) {
                    Some(stack) => writeln!(out, "   ----- interrupted, stack {stack} -----")?,
                    None => writeln!(out, "   ----- interrupted -----")?,
                }
            }
            text.write(out, event)
        })
        .map(|_| ())
}
