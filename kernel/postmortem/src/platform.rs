//! What only the kernel knows.

use core::fmt::{self, Display};
use core::time::Duration;

use unwind::SavedRegister;

use crate::arch::{Registers, TrapFrame};
use crate::image::Image;
use crate::stack::{ReadWord, Stack};

/// A kernel, as seen by the code that reports its death. The first four methods have to be written; the others are for kernels
/// with several CPUs, with tasks, or with something to add.
///
/// Every method is called when anything may be broken, from any context: inside an exception or NMI handler, while locks are
/// held, before the kernel is up. So none may take a lock, allocate, or wait without a bound. If one panics or faults all the
/// same, the report goes on with the next level of [`Postmortem`](crate::Postmortem)'s escalation.
///
/// # Safety
/// - [`Self::cpu`] returns different numbers on different CPUs, always the same one on the same CPU, and less than there are
///   [`PerCpu`](crate::PerCpu)s. What one CPU may read of another one's stack depends on it.
/// - Where [`Self::stack`] says that a stack has its words, there is memory, or nothing at all, and never a device: reports
///   read there.
pub unsafe trait Platform: Sync {
    /// Sends bytes to whoever reads reports: a serial line. What the device does not take in time is lost.
    fn write(&self, bytes: &[u8]);

    /// What to do last, when the report is written: reset, turn off, stop the CPU.
    fn leave(&self) -> !;

    /// The kernel's image: code, and the tables that `sframe-link` added.
    fn image(&self) -> Image;

    /// The stack with this index. Indices count from 0; the first one without a stack ends the list.
    fn stack(&self, index: usize) -> Option<Stack>;

    /// The number of the CPU that this runs on, counted from 0.
    fn cpu(&self) -> usize {
        0
    }

    /// Whether the CPU with this number runs, and can be interrupted by [`Self::send_nmi`].
    fn is_online(&self, cpu: usize) -> bool {
        cpu == self.cpu()
    }

    /// Interrupts the CPU with this number by something that its code does not mask: an NMI on x86-64, an FIQ of group 0 or
    /// a non-maskable interrupt on AArch64. Its handler calls [`Postmortem::nmi`](crate::Postmortem::nmi).
    fn send_nmi(&self, cpu: usize) {
        let _ = cpu;
    }

    /// The time since any fixed moment. The clock may be slow, but not fast: it only bounds how long a report waits for other
    /// CPUs. As written here there is none, and a report polls so many times instead that it takes about a second.
    fn now(&self) -> Option<Duration> {
        None
    }

    /// The number of the task that runs on this CPU. As written here, each CPU has one task, with its own number.
    fn current_task(&self, cpu: usize) -> usize {
        cpu
    }

    /// How many numbers [`Self::task`] is asked for.
    fn tasks(&self) -> usize {
        0
    }

    /// What is known of the task with this number, if there is one.
    fn task(&self, number: usize) -> Option<Task<'_>> {
        let _ = number;
        None
    }

    /// How this kernel's trap code saves registers. As written here, as [`TrapFrame`] has them.
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

/// How a kernel's trap code saves registers on the stack, for walks that come across it.
#[derive(Clone, Copy, Debug)]
pub struct TrapCode {
    /// Where they lie, from the stack pointer on with which the trap code calls its handler: see
    /// [`Unwinder::trap_registers`](unwind::Unwinder::trap_registers).
    pub saved: &'static [SavedRegister],
    /// Reads them at that stack pointer, an address, and gives them in the order of [`TrapFrame`]; `None` if they cannot be
    /// read. The first argument reads the word at an address.
    pub read: fn(ReadWord<'_>, u64) -> Option<TrapFrame>,
}

/// What is known of a task.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// Its name.
    pub name: &'a dyn Display,
    /// What it does, in words that follow its name and a colon: "runs on cpu 0", "sleeps for 10 ms".
    pub state: &'a dyn Display,
    /// What it waits for, in words that follow "waits for": "lock ledger, which task main holds". `None` when it waits for
    /// nothing of which more is known.
    pub waits_for: Option<&'a dyn Display>,
    /// The number of the task that keeps it waiting, because it holds a lock.
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
