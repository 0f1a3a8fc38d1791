//! The lines of a report after the first: machine, registers and code of an exception, callers; and the same for other CPUs and
//! for tasks.

use core::fmt::{self, Display, Write};

use crate::arch::{INSTRUCTION, Registers, TrapFrame};
use crate::cause::Cause;
use crate::code;
use crate::held::{Held, Other};
use crate::image::Image;
use crate::machine::Machine;
use crate::postmortem::Postmortem;
use crate::stacks::TaskName;
use crate::subject::FirstLine;
use crate::walk::{Walk, write_symbols};

/// One report: what all of its traces share.
pub(crate) struct Report {
    postmortem: &'static Postmortem,
    /// Its tables know what verifying them has found.
    image: Image,
    machine: Machine,
}

impl Report {
    /// Verifies the tables, once for all traces.
    pub(crate) fn new(postmortem: &'static Postmortem) -> Self {
        let mut image = postmortem.platform.image();
        let machine = Machine::verify(&mut image);
        Self {
            postmortem,
            image,
            machine,
        }
    }

    /// Writes everything about this cause that follows the first line.
    pub(crate) fn write_cause(
        &self,
        out: &mut dyn Write,
        held: &Held<'_>,
        cause: &Cause<'_>,
    ) -> fmt::Result {
        let cpu = cause.cpu(held);
        let (image, task) = (&self.image, self.task_on(cpu));
        writeln!(out, "cpu {cpu}, task {task}, {}", self.machine)?;
        if let Some(frame) = cause.frame(held) {
            frame.write_registers(&self.postmortem.stacks(), out)?;
            code::write(out, image.code, frame.pc(), INSTRUCTION)?;
        }
        self.write_callers(out, cpu, cause.registers(held))
    }

    /// Writes whole traces of all CPUs that are held, except the one that the report of `cause` is about.
    pub(crate) fn write_others(
        &self,
        out: &mut dyn Write,
        held: &Held<'_>,
        cause: Option<&Cause<'_>>,
    ) -> fmt::Result {
        let written = cause.map_or(held.cpu(), |cause| cause.cpu(held));
        if let Some(Cause::Hang(_, registers)) = cause
            && written != held.cpu()
        {
            let this = held.cpu();
            let (task, wait) = (self.task_on(this), Wait(self.postmortem, this));
            writeln!(out, "cpu {this}, task {task}, stopped at its tick{wait}")?;
            self.write_callers(out, this, *registers)?;
        }
        for cpu in held.others().filter(|cpu| *cpu != written) {
            let task = self.task_on(cpu);
            match held.other(cpu) {
                // A CPU that waits to report a breakpoint does that afterwards, in its own report.
                Other::Interrupted(frame) | Other::Failed(&Cause::Breakpoint(frame)) => {
                    self.write_stopped(out, cpu, frame)?;
                }
                Other::Failed(cause) => {
                    let first = FirstLine {
                        postmortem: self.postmortem,
                        cpu,
                        cause,
                    };
                    writeln!(out, "cpu {cpu}, task {task}, failed too: {first}")?;
                    self.write_callers(out, cpu, cause.registers(held))?;
                }
                Other::Silent => writeln!(out, "cpu {cpu} does not answer")?,
            }
        }
        Ok(())
    }

    fn write_stopped(&self, out: &mut dyn Write, cpu: usize, frame: &TrapFrame) -> fmt::Result {
        let (task, wait) = (self.task_on(cpu), Wait(self.postmortem, cpu));
        let (pc, place) = (frame.pc(), self.postmortem.stacks().place(frame.sp()));
        writeln!(
            out,
            "cpu {cpu}, task {task}, stopped at {pc:#018x}, {place}{wait}"
        )?;
        self.write_callers(out, cpu, frame.registers())
    }

    /// Writes every task with its state and its callers. `this` has the registers of the current task.
    pub(crate) fn write_tasks(&self, out: &mut dyn Write, this: Registers) -> fmt::Result {
        let platform = self.postmortem.platform;
        let tasks = || (0..platform.tasks()).filter(|task| platform.task(*task).is_some());
        writeln!(out, "{} tasks", tasks().count())?;
        let cpu = platform.cpu();
        let current = platform.current_task(cpu);
        for number in tasks() {
            if number == current {
                self.write_state(out, number, ", this one")?;
                self.write_callers(out, cpu, this)?;
            } else {
                self.write_task(out, number)?;
            }
        }
        Ok(())
    }

    /// Writes every task that keeps the current one of this CPU waiting: the one that blocks it, the one that blocks that, and
    /// so on.
    pub(crate) fn write_blockers(&self, out: &mut dyn Write) -> fmt::Result {
        let platform = self.postmortem.platform;
        let this = platform.current_task(platform.cpu());
        let next = |task: &usize| platform.task(*task)?.blocked_by;
        // In a deadlock they wait in a circle.
        let blockers = core::iter::successors(next(&this), next).take(platform.tasks());
        for blocker in blockers.take_while(|blocker| *blocker != this) {
            self.write_task(out, blocker)?;
        }
        Ok(())
    }

    /// Writes the state of a task and, if it does not run, its callers; those of a running task are not known.
    fn write_task(&self, out: &mut dyn Write, number: usize) -> fmt::Result {
        self.write_state(out, number, "")?;
        let Some(task) = self.postmortem.platform.task(number) else {
            return Ok(());
        };
        match task.registers {
            // No CPU has the number `usize::MAX`, so the walk reads only stacks of tasks.
            Some(registers) => self.write_callers(out, task.cpu.unwrap_or(usize::MAX), registers),
            None => Ok(()),
        }
    }

    fn write_state(&self, out: &mut dyn Write, number: usize, end: &str) -> fmt::Result {
        match self.postmortem.platform.task(number) {
            Some(task) => writeln!(out, "task {}: {}{end}", task.name, task.state),
            None => Ok(()),
        }
    }

    /// Writes the callers of code with these registers, on the stacks of this CPU and of the tasks.
    pub(crate) fn write_callers(
        &self,
        out: &mut dyn Write,
        cpu: usize,
        registers: Registers,
    ) -> fmt::Result {
        let Postmortem {
            platform,
            machine_check,
            write_trace,
            ..
        } = self.postmortem;
        write_trace(
            &Walk::new(*platform, machine_check, self.image, cpu, registers),
            out,
        )
    }

    /// The name of the task that runs on a CPU, as text.
    fn task_on(&self, cpu: usize) -> impl Display + '_ {
        TaskName(
            self.postmortem.platform,
            self.postmortem.platform.current_task(cpu),
        )
    }
}

impl Postmortem {
    /// Writes the callers of code with these registers, on the stacks of this CPU and of the tasks.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_callers(
        &'static self,
        out: &mut dyn Write,
        cpu: usize,
        registers: Registers,
    ) -> fmt::Result {
        Report::new(self).write_callers(out, cpu, registers)
    }

    /// Writes whole traces of all CPUs that are held.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_others(&'static self, out: &mut dyn Write, held: &Held<'_>) -> fmt::Result {
        Report::new(self).write_others(out, held, None)
    }

    /// Writes every task with its state and its callers. `this` has the registers of the current task.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write_tasks(&'static self, out: &mut dyn Write, this: Registers) -> fmt::Result {
        Report::new(self).write_tasks(out, this)
    }

    /// Returns the symbol table; if it cannot be used, writes why.
    pub fn symbols(
        &self,
        out: &mut dyn Write,
    ) -> Result<Option<unwind::symbols::SymbolTable<'static>>, fmt::Error> {
        write_symbols(&self.platform.image(), out)
    }
}

/// What the task on this CPU waits for, as text to append.
struct Wait<'a>(&'a Postmortem, usize);

impl fmt::Display for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let platform = self.0.platform;
        let task = platform.task(platform.current_task(self.1));
        match task.and_then(|task| task.waits_for) {
            Some(lock) => write!(f, ", waits for {lock}"),
            None => Ok(()),
        }
    }
}
