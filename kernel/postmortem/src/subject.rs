//! The subject of a report: the CPU that it is about, and what that CPU was doing.

use core::fmt::{self, Write};

use crate::arch::{Registers, TrapFrame};
use crate::cause::Cause;
use crate::held::{Held, Other};
use crate::kernel_text::KernelText;
use crate::postmortem::{Cpus, Postmortem};
use crate::watchdog::SECONDS;

impl Cause<'_> {
    /// The registers of the CPU that met the cause, and its trap frame if it was interrupted.
    pub(crate) fn of_its_cpu(&self) -> (Registers, Option<&TrapFrame>) {
        match self {
            Self::Panic(_, registers) | Self::Hang(_, registers) => (*registers, None),
            Self::Fault(frame) | Self::Breakpoint(frame) | Self::Nmi(frame) => {
                (frame.registers(), Some(frame))
            }
        }
    }

    /// The trap frame of the CPU that the report is about, if it was interrupted.
    pub(crate) fn frame<'a>(&'a self, held: &'a Held<'_>) -> Option<&'a TrapFrame> {
        match self {
            Self::Hang(cpu, _) => match held.other(*cpu) {
                Other::Interrupted(frame) => Some(frame),
                Other::Failed(_) | Other::Silent => None,
            },
            _ => self.of_its_cpu().1,
        }
    }

    /// The CPU that the report is about: this one, or the one that hangs, if it could be stopped.
    pub(crate) fn cpu(&self, held: &Held<'_>) -> usize {
        match (self, self.frame(held)) {
            (Self::Hang(cpu, _), Some(_)) => *cpu,
            _ => held.cpu(),
        }
    }

    /// The registers from which a walk of that CPU starts.
    pub(crate) fn registers(&self, held: &Held<'_>) -> Registers {
        let frame = self.frame(held).map(TrapFrame::registers);
        frame.unwrap_or(self.of_its_cpu().0)
    }
}

/// The CPUs, as far as a report with this cause knows what they did.
pub(crate) struct Known<'a, 'p> {
    pub held: &'a Held<'p>,
    pub cause: &'a Cause<'a>,
}

impl Cpus for Known<'_, '_> {
    fn this(&self) -> usize {
        self.held.cpu()
    }

    fn of(&self, cpu: usize) -> Option<(Registers, Option<&TrapFrame>)> {
        let Self { held, cause } = self;
        if cpu == cause.cpu(held) {
            return Some((cause.registers(held), cause.frame(held)));
        }
        // Another one hangs, and this one has noticed.
        if cpu == held.cpu() {
            return Some(cause.of_its_cpu());
        }
        match held.other(cpu) {
            Other::Interrupted(frame) => Some((frame.registers(), Some(frame))),
            Other::Failed(cause) => Some(cause.of_its_cpu()),
            Other::Silent => None,
        }
    }
}

/// As text, the first line of a report, without its newline.
pub(crate) struct FirstLine<'a> {
    pub postmortem: &'a Postmortem,
    /// The CPU that met the cause, if its number is known.
    pub cpu: Option<usize>,
    pub cause: &'a Cause<'a>,
}

impl FirstLine<'_> {
    /// Writes the start of the line: what happened, and where. Calls no function of the kernel except `out`.
    pub(crate) fn write_head(&self, out: &mut dyn Write) -> fmt::Result {
        let (what, frame) = match self.cause {
            Cause::Panic(info, _) => {
                out.write_str("panicked")?;
                return match info.location() {
                    Some(location) => write!(out, " at {location}"),
                    None => Ok(()),
                };
            }
            Cause::Hang(hangs, _) => {
                return match self.cpu {
                    Some(cpu) => write!(
                        out,
                        "hang on cpu {hangs}: its timer has not ticked for {SECONDS} s, detected by cpu {cpu}"
                    ),
                    None => write!(
                        out,
                        "hang on cpu {hangs}: its timer has not ticked for {SECONDS} s"
                    ),
                };
            }
            Cause::Fault(frame) => ("fault", frame),
            Cause::Breakpoint(frame) => ("breakpoint", frame),
            Cause::Nmi(frame) => ("interrupted", frame),
        };
        out.write_str(what)?;
        if let Some(cpu) = self.cpu {
            write!(out, " on cpu {cpu}")?;
        }
        write!(out, " at {:#018x}", frame.pc())
    }

    /// Whether the start of the line would differ if the number of the CPU were known.
    pub(crate) const fn lacks_cpu(&self) -> bool {
        self.cpu.is_none() && !matches!(self.cause, Cause::Panic(..))
    }

    /// Writes the rest of the line: words of the kernel, which may fail.
    pub(crate) fn write_tail(&self, out: &mut dyn Write) -> fmt::Result {
        match self.cause {
            Cause::Panic(info, _) => write!(out, ": {}", KernelText(&info.message())),
            Cause::Hang(..) => Ok(()),
            Cause::Fault(frame) | Cause::Breakpoint(frame) | Cause::Nmi(frame) => {
                write!(out, ": {}", self.postmortem.words_of(self.cpu, frame))
            }
        }
    }
}

impl fmt::Display for FirstLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        self.write_tail(f)
    }
}
