//! The trait that a kernel implements: what only the kernel knows.

use core::fmt::{self, Display};
use core::time::Duration;

use unwind::{Range, SavedRegister};

use crate::arch::{Registers, TrapFrame};
use crate::image::Image;
use crate::stack::{ReadWord, Stack};

/// A kernel, as seen by the code that reports its death. The first four methods have to be written; the others are for kernels
/// with several CPUs, with tasks, or with something to add.
///
/// Every method is called when anything may be broken, from any context: inside an exception or NMI handler, while locks are
/// held, before the kernel is up. So none may take a lock, allocate, or wait without a bound. If one panics or faults all the
/// same, the report goes on with the next level of [`Postmortem`](crate::Postmortem)'s escalation. If one never returns, what was
/// sent before stands: the first line is sent before any method but [`Self::write`] is called.
///
/// # Safety
/// - [`Self::cpu`] returns different numbers on different CPUs, always the same one on the same CPU, and less than there are
///   [`PerCpu`](crate::PerCpu)s, unless the number is unknown yet. What one CPU may read of another one's stack depends on it.
/// - The words of every [`Self::stack`], and of what is [`Self::noted`], are memory, or not mapped, but never a device: reports read them.
pub unsafe trait Platform: Sync {
    /// Sends the bytes of a report, to a serial line for example. Bytes that the device does not take in time may be lost.
    fn write(&self, bytes: &[u8]);

    /// Called when the other CPUs have stopped for the report that ends the kernel. `begun` is the part of its first line that was
    /// sent before, or empty. What follows by [`Self::write`] is the rest of the report, and nothing else, up to
    /// [`Self::report_ends`]. By default it does nothing.
    fn report_begins(&self, begun: &str) {
        let _ = begun;
    }

    /// Called after the last byte of that report: what follows is a [dump](crate::Postmortem::with_dump), if one was asked for. It is not
    /// called if the report has failed. By default it does nothing.
    fn report_ends(&self) {}

    /// Called last, after the report: resets, turns off, or stops the CPU. If it fails, it is called once more, so that what a kernel does
    /// besides should be done the first time only. If it fails again, the CPU halts.
    fn leave(&self) -> !;

    /// The kernel's image: code, and the tables that `sframe-link` added.
    fn image(&self) -> Image;

    /// The stack with this index. Indices count from 0; the first one without a stack ends the list.
    fn stack(&self, index: usize) -> Option<Stack>;

    /// The number of the CPU that this runs on, counted from 0; `usize::MAX` if it is unknown yet. While another CPU is online, the
    /// report of a CPU without a number is one line, after which it halts.
    fn cpu(&self) -> usize {
        0
    }

    /// Whether the CPU with this number runs, and can be interrupted by [`Self::send_nmi`].
    fn is_online(&self, cpu: usize) -> bool {
        cpu == self.cpu()
    }

    /// Sends the CPU with this number an interrupt that the kernel does not mask: an NMI on x86-64, on AArch64 an interrupt of
    /// group 0 as FIQ, or an NMI. Its handler calls [`Postmortem::nmi`](crate::Postmortem::nmi).
    fn send_nmi(&self, cpu: usize) {
        let _ = cpu;
    }

    /// The time since a fixed moment. It only bounds how long a report waits for other CPUs, so the clock may be too slow, but
    /// not too fast. By default there is no clock, and a report polls a fixed number of times instead, for about a second.
    fn now(&self) -> Option<Duration> {
        None
    }

    /// The number of the task that runs on this CPU. By default each CPU has one task, with the CPU's number. During a switch it may
    /// be the task before or after it, if that has [`registers`](Task::registers) then: reports go by the stack instead.
    fn current_task(&self, cpu: usize) -> usize {
        cpu
    }

    /// Task numbers are less than this: [`Self::task`] is called for 0 up to it.
    fn tasks(&self) -> usize {
        0
    }

    /// The task with this number, if there is one.
    fn task(&self, number: usize) -> Option<Task<'_>> {
        let _ = number;
        None
    }

    /// The memory with this index that a [dump](crate::Postmortem::with_dump) has besides stacks: what the kernel notes of its tasks and
    /// locks, for a host to read. Indices count from 0; the first one without memory ends the list. By default there is none.
    fn noted(&self, index: usize) -> Option<Range> {
        let _ = index;
        None
    }

    /// How this kernel's trap code saves registers. By default in the layout of [`TrapFrame`].
    fn trap_code(&self) -> TrapCode {
        TrapCode {
            saved: &TrapFrame::SAVED,
            read: TrapFrame::read,
        }
    }

    /// The name of the interrupt with this number: on x86-64 the vector, on AArch64 the interrupt ID.
    fn interrupt_name(&self, number: u64) -> Option<&'static str> {
        let _ = number;
        None
    }
}

/// How a kernel's trap code saves registers on the stack, for walks through it.
#[derive(Clone, Copy, Debug)]
pub struct TrapCode {
    /// Their offsets from the stack pointer with which the trap code calls its handler: see
    /// [`Unwinder::trap_registers`](unwind::Unwinder::trap_registers).
    pub saved: &'static [SavedRegister],
    /// Reads them at that stack pointer, an address, as a [`TrapFrame`]; `None` if they cannot be read. The first argument
    /// reads the word at an address.
    pub read: fn(ReadWord<'_>, u64) -> Option<TrapFrame>,
}

/// What is known of a task.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// Its name.
    pub name: &'a dyn Display,
    /// What it does, in words that follow its name and a colon: "runs on cpu 0", "sleeps for 10 ms".
    pub state: &'a dyn Display,
    /// What it waits for, in words that follow "waits for": "lock ledger, which task main holds". `None` if it does not wait,
    /// or that is not known.
    pub waits_for: Option<&'a dyn Display>,
    /// The number of the task that it waits for: the holder of a lock.
    pub blocked_by: Option<usize>,
    /// The registers with which it will go on. `None` while it runs, and when it has ended.
    pub registers: Option<Registers>,
    /// The CPU whose stacks it uses, if it belongs to a CPU and has no stack of its own.
    pub cpu: Option<usize>,
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}: {}", self.name, self.state)
    }
}
