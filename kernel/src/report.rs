//! What a report says after its first line: the machine, the registers and the code of an exception, the callers.

use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use unwind::markup::{self, Segment};
use unwind::report::{Backtrace, write_bytes};
use unwind::symbols::SymbolTable;
use unwind::{Code, Frames, Stacks};

use crate::arch::registers::Registers;
use crate::arch::trap::TrapFrame;
use crate::console::Console;
use crate::stack::Place;
use crate::stop::{self, Other};
use crate::{arch, code, cpus, frames, image, stack, task};

/// Frames shown of a recursion that filled its stack: so many of the first, so many of the last.
const ENDS: (u32, u32) = (256, 32);

/// Whether traces have the registers of all that was interrupted: many lines, which are asked for.
static HAS_REGISTERS: AtomicBool = AtomicBool::new(false);

/// Whether traces come as markup for a symbolizer, too.
static HAS_MARKUP: AtomicBool = AtomicBool::new(false);

/// Why there is a report.
#[derive(Debug)]
pub enum Cause<'a> {
    /// A panic, and the registers in its handler.
    Panic(&'a PanicInfo<'a>, Registers),
    /// An exception that ends the kernel.
    Fault(&'a TrapFrame),
    /// An exception that returns.
    Breakpoint(&'a TrapFrame),
    /// Somebody outside asks.
    Nmi(&'a TrapFrame),
    /// The processor with this number hangs, which another one has found, with these registers.
    Hang(usize, Registers),
}

impl Cause<'_> {
    /// What was interrupted, if anything was.
    fn frame(&self) -> Option<&TrapFrame> {
        match self {
            Self::Panic(..) => None,
            Self::Fault(frame) | Self::Breakpoint(frame) | Self::Nmi(frame) => Some(frame),
            Self::Hang(cpu, _) => match stop::other(*cpu) {
                Other::Interrupted(frame) => Some(frame),
                Other::Failed(_) | Other::Silent => None,
            },
        }
    }

    /// The processor that it is about: this one, or the one that hangs, if it could be stopped.
    fn cpu(&self) -> usize {
        match (self, self.frame()) {
            (Self::Hang(cpu, _), Some(_)) => *cpu,
            _ => cpus::this(),
        }
    }

    /// Where a walk starts.
    fn registers(&self) -> Registers {
        match self {
            Self::Panic(_, registers) => *registers,
            Self::Fault(frame) | Self::Breakpoint(frame) | Self::Nmi(frame) => frame.registers(),
            Self::Hang(_, registers) => self.frame().map_or(*registers, TrapFrame::registers),
        }
    }
}

/// The first line, of this processor.
impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        On(cpus::this(), self).fmt(f)
    }
}

/// The first line, of the processor with this number.
struct On<'a>(usize, &'a Cause<'a>);

impl fmt::Display for On<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(cpu, cause) = self;
        let (what, frame) = match cause {
            Cause::Panic(info, _) => {
                f.write_str("panicked")?;
                if let Some(location) = info.location() {
                    write!(f, " at {location}")?;
                }
                return write!(f, ": {}", info.message());
            }
            Cause::Fault(frame) => ("fault", frame),
            Cause::Breakpoint(frame) => ("breakpoint", frame),
            Cause::Nmi(frame) => ("interrupted", frame),
            Cause::Hang(hangs, _) => {
                let seconds = postmortem::SECONDS;
                return write!(
                    f,
                    "hang on cpu {hangs}: its timer has not ticked for {seconds} s, cpu {cpu} says"
                );
            }
        };
        write!(f, "{what} on cpu {cpu} at {:#018x}: {frame}", frame.pc())
    }
}

/// Writes all that follows the first line.
pub fn write(console: &mut Console, cause: &Cause<'_>) -> fmt::Result {
    let cpu = cause.cpu();
    let task = task::on(cpu).name();
    write!(console, "cpu {cpu}, task {task}, {}, build ", arch::NAME)?;
    write_bytes(console, image::build_id())?;
    writeln!(console, ", {}", image::StateOfTables)?;
    if let Some(frame) = cause.frame() {
        frame.write(console)?;
        code::write(console, frame.pc())?;
    }
    callers(console, cpu, cause.registers())
}

/// Writes what the processors were doing that [`write`] has not written about, which this one holds: whole traces one after
/// another.
pub fn write_others(console: &mut Console, cause: Option<&Cause<'_>>) -> fmt::Result {
    let written = cause.map_or_else(cpus::this, Cause::cpu);
    if let Some(Cause::Hang(_, registers)) = cause
        && written != cpus::this()
    {
        let this = cpus::this();
        writeln!(
            console,
            "cpu {this}, task {}, stopped at its tick{}",
            task::on(this).name(),
            Wish(this)
        )?;
        callers(console, this, *registers)?;
    }
    for cpu in stop::others().filter(|cpu| *cpu != written) {
        match stop::other(cpu) {
            // One with a breakpoint to report goes on afterwards, and does so then.
            Other::Interrupted(frame) | Other::Failed(&Cause::Breakpoint(frame)) => {
                writeln!(
                    console,
                    "cpu {cpu}, task {}, stopped at {:#018x}, {}{}",
                    task::on(cpu).name(),
                    frame.pc(),
                    Place(frame.sp()),
                    Wish(cpu)
                )?;
                callers(console, cpu, frame.registers())?;
            }
            Other::Failed(cause) => {
                writeln!(
                    console,
                    "cpu {cpu}, task {}, failed too: {}",
                    task::on(cpu).name(),
                    On(cpu, cause)
                )?;
                callers(console, cpu, cause.registers())?;
            }
            Other::Silent => writeln!(console, "cpu {cpu} does not answer")?,
        }
    }
    Ok(())
}

/// The lock that the task on this processor waits for; as text, an end for its line.
struct Wish(usize);

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match task::on(self.0).wants() {
            Some(lock) => write!(f, ", waits for {lock}"),
            None => Ok(()),
        }
    }
}

/// Writes the callers, from these registers of a processor outwards.
pub fn callers(console: &mut Console, cpu: usize, registers: Registers) -> fmt::Result {
    let code = image::code();
    let code = [Code::new(code.bytes(), code.start())];
    let ranges = stack::ranges(cpu);
    let walk = || {
        Frames::new(
            image::tables(),
            registers,
            Stacks::new(&ranges, stack::read_u64),
        )
        .code(&code)
        .trap_registers(&TrapFrame::SAVED)
    };
    if frames::are_used() {
        return frames::send_trace(walk(), interrupted);
    }
    let mut backtrace = Backtrace::new(walk(), symbols(console)?)
        .trap_words(interrupted)
        .ends(ENDS.0, ENDS.1);
    if HAS_REGISTERS.load(Ordering::Relaxed) {
        backtrace = backtrace.trap_lines(interrupted_registers);
    }
    backtrace.write(console)?;
    if HAS_MARKUP.load(Ordering::Relaxed) {
        let text = Segment {
            start: image::text().start,
            size: image::text().end.wrapping_sub(image::text().start),
            access: "rx",
            // The kernel runs where it was linked to.
            file_address: image::text().start,
        };
        markup::write_context(console, "kernel", image::build_id(), &[text])?;
        markup::write_frames(console, &mut walk())?;
    }
    Ok(())
}

/// Traces come as markup too, from now on.
pub fn show_markup() {
    HAS_MARKUP.store(true, Ordering::Relaxed);
}

/// Traces have the registers of all that was interrupted, from now on or no longer.
pub fn show_registers(yes: bool) {
    HAS_REGISTERS.store(yes, Ordering::Relaxed);
}

/// Says why the trap code ran that keeps its frame at this address, and which stack it interrupted.
fn interrupted(out: &mut dyn Write, frame: Option<u64>) -> fmt::Result {
    match frame.and_then(TrapFrame::read) {
        Some(frame) => write!(out, "{frame}, {}", Place(frame.sp())),
        None => out.write_str("interrupted"),
    }
}

/// Writes the registers that the trap code saved.
fn interrupted_registers(mut out: &mut dyn Write, frame: Option<u64>) -> fmt::Result {
    match frame.and_then(TrapFrame::read) {
        Some(frame) => frame.write(&mut out),
        None => out.write_str("  registers: not saved yet, or taken back already\n"),
    }
}

/// The names, if there are any that can be trusted.
pub fn symbols(console: &mut Console) -> Result<Option<SymbolTable<'static>>, fmt::Error> {
    let symbols = image::symbols();
    match SymbolTable::parse(symbols.bytes(), symbols.start()) {
        Ok(table) if table.build_id() == image::build_id() => Ok(Some(table)),
        Ok(table) => {
            console.write_str("no names: .symbols is of another image, build ")?;
            write_bytes(console, table.build_id())?;
            console.write_str("\n")?;
            Ok(None)
        }
        Err(error) => {
            writeln!(console, "no names: .symbols: {error}")?;
            Ok(None)
        }
    }
}
