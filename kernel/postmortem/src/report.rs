//! The lines of a report after the first: machine, registers and code of an exception, callers; the same for other CPUs and for tasks.

use core::fmt::{self, Write};

use unwind::RegisterSet as _;

use crate::arch::{INSTRUCTION, Registers, TrapFrame};
use crate::cause::Cause;
use crate::code;
use crate::held::{Held, Other};
use crate::image::Image;
use crate::kernel_text::KernelText;
use crate::machine::Machine;
use crate::module::section;
use crate::modules::Reading;
use crate::platform::Task;
use crate::postmortem::Postmortem;
use crate::regions::Regions;
use crate::rendezvous::Shown;
use crate::stack::{NO_CPU, Owner};
use crate::stacks::TaskName;
use crate::subject::FirstLine;
use crate::walk::{Walk, write_symbols};

/// One report: what all of its traces share.
pub(crate) struct Report {
    postmortem: &'static Postmortem,
    /// The image, whose tables contain the result of their verification.
    image: Image,
    /// Its code that can be read.
    regions: Regions,
    machine: Machine,
}

impl Report {
    /// Verifies the tables, once for all traces.
    pub(crate) fn new(postmortem: &'static Postmortem) -> Self {
        let mut image = postmortem.platform.image();
        let regions = Regions::readable(image.code);
        let machine = Machine::verify(&mut image, &regions);
        Self {
            postmortem,
            image,
            regions,
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
        let registers = cause.registers(held);
        let task = self.task_on(cpu, registers.sp());
        let machine = &self.machine;
        writeln!(out, "cpu {cpu}, task {task}, {machine}")?;
        if let Some(frame) = cause.frame(held) {
            frame.write_registers(&self.postmortem.stacks(), out)?;
            if !frame.is_user() {
                write_code(out, &self.regions, frame.pc())?;
            }
        }
        self.write_callers(out, cpu, registers)
    }

    /// Writes whole traces of all CPUs that are held, except the one that the report of `cause` is about.
    pub(crate) fn write_others(
        &self,
        out: &mut dyn Write,
        held: &Held<'_>,
        cause: Option<&Cause<'_>>,
    ) -> fmt::Result {
        let written = cause.map_or(held.cpu(), |cause| cause.cpu(held));
        // An error at one CPU must not leave out the others.
        let mut all = Ok(());
        if let Some(Cause::Hang(_, registers)) = cause
            && written != held.cpu()
        {
            all = self.write_ticked(out, held.cpu(), *registers);
        }
        for cpu in held.others().filter(|cpu| *cpu != written) {
            let one = match held.other(cpu) {
                // A CPU that waits to report a breakpoint does that afterwards, in its own report.
                Other::Interrupted(frame) | Other::Failed(&Cause::Breakpoint(frame)) => {
                    self.write_stopped(out, cpu, frame)
                }
                Other::Failed(cause) => self.write_failed(out, cpu, cause),
                Other::Silent => writeln!(out, "cpu {cpu} does not answer"),
            };
            all = all.and(one);
        }
        all
    }

    fn write_ticked(&self, out: &mut dyn Write, cpu: usize, registers: Registers) -> fmt::Result {
        let task = self.task_on(cpu, registers.sp());
        let wait = Wait(self.postmortem, task.1);
        writeln!(out, "cpu {cpu}, task {task}, stopped at a timer tick{wait}")?;
        self.write_callers(out, cpu, registers)
    }

    fn write_failed(&self, out: &mut dyn Write, cpu: usize, cause: &Cause<'_>) -> fmt::Result {
        let first = FirstLine {
            postmortem: self.postmortem,
            cpu: Some(cpu),
            cause,
        };
        let (registers, _) = cause.of_its_cpu();
        let task = self.task_on(cpu, registers.sp());
        writeln!(out, "cpu {cpu}, task {task}, also failed: {first}")?;
        self.write_callers(out, cpu, registers)
    }

    fn write_stopped(&self, out: &mut dyn Write, cpu: usize, frame: &TrapFrame) -> fmt::Result {
        let task = self.task_on(cpu, frame.sp());
        let wait = Wait(self.postmortem, task.1);
        let (pc, place) = (frame.pc(), self.postmortem.stacks().place_of(frame));
        writeln!(
            out,
            "cpu {cpu}, task {task}, stopped at {pc:#018x}, {place}{wait}"
        )?;
        self.write_callers(out, cpu, frame.registers())
    }

    /// Writes every task with its state and its callers, also of those that run on CPUs that are held. `this` has the registers of
    /// the current task.
    pub(crate) fn write_tasks(
        &self,
        out: &mut dyn Write,
        held: Option<&Held<'_>>,
        this: Registers,
    ) -> fmt::Result {
        let platform = self.postmortem.platform;
        let tasks = || (0..platform.tasks()).filter(|task| platform.task(*task).is_some());
        writeln!(out, "{} tasks", tasks().count())?;
        // No CPU has the number `usize::MAX`.
        let cpu = self.postmortem.number(self.postmortem.entry());
        let cpu = cpu.unwrap_or(usize::MAX);
        let current = platform.current_task(cpu);
        let mut all = Ok(());
        for number in tasks() {
            let held = held.filter(|_| number != current);
            let runs = held.and_then(|held| self.running(held, number));
            let (cpu, registers, end) = match runs {
                _ if number == current => (cpu, this, ", this one"),
                Some((cpu, registers)) => (cpu, registers, ", stopped there"),
                None => {
                    all = all.and(self.write_task(out, number));
                    continue;
                }
            };
            let one = self.write_state(out, number, end);
            all = all.and(one).and(self.write_callers(out, cpu, registers));
        }
        all
    }

    /// The CPU that is held while it runs this task, and its registers.
    fn running(&self, held: &Held<'_>, number: usize) -> Option<(usize, Registers)> {
        held.others().find_map(|cpu| {
            let registers = match held.other(cpu) {
                Other::Interrupted(frame) => frame.registers(),
                Other::Failed(cause) => cause.of_its_cpu().0,
                Other::Silent => return None,
            };
            let task = self.task_on(cpu, registers.sp());
            (task.1 == number).then_some((cpu, registers))
        })
    }

    /// Writes every task that keeps the current task of this CPU waiting: the task that blocks it, the task that blocks that task, and so
    /// on.
    pub(crate) fn write_blockers(&self, out: &mut dyn Write, held: &Held<'_>) -> fmt::Result {
        let platform = self.postmortem.platform;
        let this = platform.current_task(held.cpu());
        let next = |task: &usize| platform.task(*task)?.blocked_by;
        // In a deadlock, tasks wait for each other in a cycle.
        let blockers = core::iter::successors(next(&this), next).take(platform.tasks());
        let mut all = Ok(());
        for blocker in blockers.take_while(|blocker| *blocker != this) {
            all = all.and(self.write_task(out, blocker));
        }
        all
    }

    /// Writes the state of a task and, if it does not run, its callers; those of a running task are not known.
    fn write_task(&self, out: &mut dyn Write, number: usize) -> fmt::Result {
        self.write_state(out, number, "")?;
        let Some(task) = self.postmortem.platform.task(number) else {
            return Ok(());
        };
        match task.registers {
            Some(registers) => {
                let walk = self.walk(task.cpu.unwrap_or(NO_CPU), registers);
                let walk = walk.of_task(number, registers, self.others_run());
                (self.postmortem.write_trace)(&walk, out)
            }
            None => Ok(()),
        }
    }

    /// Whether another CPU runs: it is not held, or does not answer.
    fn others_run(&self) -> bool {
        let Postmortem {
            platform,
            rendezvous,
            ..
        } = self.postmortem;
        let this = platform.cpu();
        let runs = |cpu| matches!(rendezvous.shown(self.postmortem.side(cpu)), Shown::Silent);
        self.postmortem.online().any(|cpu| cpu != this && runs(cpu))
    }

    fn write_state(&self, out: &mut dyn Write, number: usize, end: &str) -> fmt::Result {
        match self.postmortem.platform.task(number) {
            Some(task) => {
                let [name, state] = [task.name, task.state].map(KernelText);
                writeln!(out, "task {name}: {state}{end}")
            }
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
        (self.postmortem.write_trace)(&self.walk(cpu, registers), out)
    }

    fn walk(&self, cpu: usize, registers: Registers) -> Walk {
        let platform = self.postmortem.platform;
        let noted = &self.postmortem.per_cpu(cpu).machine_check;
        Walk::new(platform, noted, self.image, self.regions, cpu, registers)
    }

    /// The task that runs on a CPU with this stack pointer. It is the one that the kernel has noted, if that runs, wherever `sp` is. If
    /// the noted one has saved registers, it does not run and a switch is under way: then it is the task whose stack holds `sp`.
    fn task_on(&self, cpu: usize, sp: u64) -> TaskName<'_> {
        let platform = self.postmortem.platform;
        let noted = platform.current_task(cpu);
        let runs = |task: Task<'_>| task.registers.is_none();
        if platform.task(noted).is_some_and(runs) {
            return TaskName(platform, noted);
        }
        let mut stacks = self.postmortem.stacks().iter();
        let stack = stacks.find(|stack| stack.holds(sp));
        let task = match stack.map(|stack| stack.owner) {
            Some(Owner::Task(task)) => task,
            _ => noted,
        };
        TaskName(platform, task)
    }
}

/// Writes the code around this address, of the image or of a module.
fn write_code(out: &mut dyn Write, regions: &Regions, pc: u64) -> fmt::Result {
    let reading = Reading::begin();
    let module = reading.as_ref().map(Reading::modules).unwrap_or_default();
    let code = section(module, pc).unwrap_or_else(|| regions.with(pc));
    code::write(out, code, pc, INSTRUCTION)
}

impl Postmortem {
    /// Writes the code around the address `pc` in the form of a report, with the instruction or byte at `pc` in angle brackets. The numbers
    /// have the size of an instruction if all instructions have the same size; otherwise they are bytes.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_code(&self, out: &mut dyn Write, pc: u64) -> fmt::Result {
        write_code(out, &Regions::readable(self.platform.image().code), pc)
    }

    /// Writes the callers of code with these registers, on the stacks of the CPU with number `cpu` and of the tasks.
    ///
    /// ```no_run
    /// # fn example(POSTMORTEM: &'static postmortem::Postmortem) -> core::fmt::Result {
    /// // The callers of this function, outside of a report.
    /// POSTMORTEM.write_callers(&mut POSTMORTEM.out(), 0, postmortem::capture())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_callers(
        &'static self,
        out: &mut dyn Write,
        cpu: usize,
        registers: Registers,
    ) -> fmt::Result {
        Report::new(self).write_callers(out, cpu, registers)
    }

    /// Writes the complete trace of each CPU that is held.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_others(&'static self, out: &mut dyn Write, held: &Held<'_>) -> fmt::Result {
        Report::new(self).write_others(out, held, None)
    }

    /// Writes every task with its state and its callers. `this` has the registers of the current task.
    ///
    /// All other CPUs are [held](Self::hold) during this call, unless another CPU holds this CPU. Mask interrupts before the call.
    ///
    /// ```no_run
    /// # fn example(POSTMORTEM: &'static postmortem::Postmortem) -> core::fmt::Result {
    /// POSTMORTEM.write_tasks(&mut POSTMORTEM.out(), postmortem::capture())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_tasks(&'static self, out: &mut dyn Write, this: Registers) -> fmt::Result {
        let held = self.hold();
        if let Some(held) = &held {
            held.stop();
        }
        Report::new(self).write_tasks(out, held.as_ref(), this)
    }

    /// Returns the symbol table. If it cannot be used, returns `None` and writes the reason to `out`.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn symbols(
        &self,
        out: &mut dyn Write,
    ) -> Result<Option<unwind::symbols::SymbolTable<'static>>, fmt::Error> {
        write_symbols(&self.platform.image(), out)
    }
}

/// What the task with this number waits for, as text to append.
struct Wait<'a>(&'a Postmortem, usize);

impl fmt::Display for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let platform = self.0.platform;
        let task = platform.task(self.1);
        match task.and_then(|task| task.waits_for) {
            Some(lock) => write!(f, ", waits for {}", KernelText(lock)),
            None => Ok(()),
        }
    }
}
