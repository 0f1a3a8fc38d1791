//! The trait that a kernel implements, for facts that only the kernel knows.

use core::fmt::{self, Display};
use core::time::Duration;

use unwind::{Range, SavedRegister};

use crate::arch::{Registers, TrapFrame};
use crate::image::Image;
use crate::stack::{ReadWord, Stack};

/// The interface between a kernel and the code that reports its death. Four methods are required; the others are for kernels with several
/// CPUs, with tasks, or with more to add.
///
/// Reports call these methods while any part of the kernel may be broken, and from any context: inside an exception or NMI handler, while
/// locks are held, before the kernel is up. Therefore a method must not take a lock, allocate, or wait without a time limit.
///
/// If a method panics or faults nevertheless, the report continues with the next step of [`Postmortem`](crate::Postmortem). If a method
/// never returns, the text that was sent before remains: the first line is sent before any method except [`Self::write`] is called.
///
/// ```
/// use postmortem::{Image, Platform, Range, Stack};
///
/// struct Kernel;
///
/// // SAFETY: there is one CPU, and the stack is RAM.
/// unsafe impl Platform for Kernel {
///     fn write(&self, bytes: &[u8]) {
///         // Send the bytes to the serial line, without a lock.
/// #       let _ = bytes;
///     }
///     fn leave(&self) -> ! {
///         loop {}
///     }
///     fn image(&self) -> Image {
///         postmortem::image!()
///     }
///     fn stack(&self, index: usize) -> Option<Stack> {
///         (index == 0).then(|| Stack::new("boot", 0, Range::new(0x20_0000, 0x21_0000)))
///     }
/// }
/// ```
///
/// # Safety
/// The implementation must guarantee:
///
/// - [`Self::cpu`] returns different numbers on different CPUs, always the same number on the same CPU. The number is less than the count
///   of [`PerCpu`](crate::PerCpu)s, unless it is unknown yet. It decides which CPU's stack another CPU may read.
/// - The words of every [`Self::stack`], and the memory of [`Self::noted`], are memory or not mapped, never a device, because reports read
///   them.
pub unsafe trait Platform: Sync {
    /// Sends the bytes of a report, for example to a serial line. Bytes that the device does not accept in time may be lost.
    fn write(&self, bytes: &[u8]);

    /// Prepares for the report that ends the kernel, after the other CPUs have stopped. By default it does nothing.
    ///
    /// `begun` is the part of the report's first line that was sent before, or empty. All text of [`Self::write`] from now on, up to
    /// [`Self::report_ends`], is the rest of the report.
    fn report_begins(&self, begun: &str) {
        let _ = begun;
    }

    /// Ends the report: its last byte was sent. A [dump](crate::Postmortem::with_dump) follows if the kernel has requested it. By default
    /// it does nothing. It is not called if the report has failed.
    fn report_ends(&self) {}

    /// Leaves the kernel, as the last step of a report: resets, turns off, or stops the machine.
    ///
    /// If this method fails, it is called once more. Therefore it should do additional work only the first time. If it fails again, the CPU
    /// halts.
    fn leave(&self) -> !;

    /// Returns the kernel's image: code, and the tables that `sframe-link` added.
    fn image(&self) -> Image;

    /// Returns the stack with this index, counted from 0. The first index without a stack ends the list.
    fn stack(&self, index: usize) -> Option<Stack>;

    /// Returns the number of the CPU that this runs on, counted from 0; `usize::MAX` if it is unknown yet. By default there is one CPU.
    ///
    /// If a CPU without a number fails while another CPU is online, its report is one line, and then it halts.
    fn cpu(&self) -> usize {
        0
    }

    /// Returns whether the CPU with this number runs, and can be interrupted by [`Self::send_nmi`].
    fn is_online(&self, cpu: usize) -> bool {
        cpu == self.cpu()
    }

    /// Sends the CPU with this number an interrupt that the kernel does not mask: on x86-64 an NMI, on AArch64 an NMI or an interrupt of
    /// group 0 as FIQ. The interrupt's handler calls [`Postmortem::nmi`](crate::Postmortem::nmi).
    fn send_nmi(&self, cpu: usize) {
        let _ = cpu;
    }

    /// Returns the time since a fixed moment. By default there is no clock, and a report polls for other CPUs a fixed number of times, for
    /// about a second.
    ///
    /// The time only limits how long a report waits for other CPUs. The clock may be too slow, but must not be too fast.
    fn now(&self) -> Option<Duration> {
        None
    }

    /// Returns the number of the task that runs on this CPU. By default each CPU has one task, with the CPU's number.
    ///
    /// During a switch, the number may be that of the task before or after the switch, if that task then has
    /// [`registers`](Task::registers): reports use the stack pointer instead.
    fn current_task(&self, cpu: usize) -> usize {
        cpu
    }

    /// Returns an upper limit of the task numbers: [`Self::task`] is called for numbers less than this.
    fn tasks(&self) -> usize {
        0
    }

    /// Returns the task with this number, if it exists.
    fn task(&self, number: usize) -> Option<Task<'_>> {
        let _ = number;
        None
    }

    /// Returns the additional memory with this index for a [dump](crate::Postmortem::with_dump): the kernel's records of its tasks and
    /// locks, for a host to read. Indices count from 0; the first index without memory ends the list. By default there is none.
    fn noted(&self, index: usize) -> Option<Range> {
        let _ = index;
        None
    }

    /// Returns how this kernel's trap code saves registers. By default in the layout of [`TrapFrame`].
    fn trap_code(&self) -> TrapCode {
        TrapCode {
            saved: &TrapFrame::SAVED,
            read: TrapFrame::read,
        }
    }

    /// Returns the name of the interrupt with this number: on x86-64 the vector, on AArch64 the interrupt ID.
    fn interrupt_name(&self, number: u64) -> Option<&'static str> {
        let _ = number;
        None
    }
}

/// The layout in which a kernel's trap code saves registers on the stack, for walks through that code.
///
/// ```
/// # #[cfg(target_arch = "x86_64")] {
/// use postmortem::{TrapCode, TrapFrame};
/// use unwind::SavedRegister;
///
/// // At the stack pointer of the call: the vector, the error code, nine registers, and the five words that the CPU pushed.
/// const RIP: u64 = 11 * 8;
/// let code = TrapCode {
///     // DWARF numbers 16 (rip), 51 (cs) and 7 (rsp).
///     saved: const {
///         &[
///             SavedRegister::new(16, RIP as u32),
///             SavedRegister::new(51, RIP as u32 + 8),
///             SavedRegister::new(7, RIP as u32 + 24),
///             SavedRegister::new(SavedRegister::END, RIP as u32 + 40),
///         ]
///     },
///     read: |read, sp| {
///         let word = |offset| read(sp.checked_add(offset)?);
///         let (rip, cs, rsp) = (word(RIP)?, word(RIP + 8)?, word(RIP + 24)?);
///         let (vector, error_code) = (word(0)?, word(8)?);
///         // The other saved registers are read in the same way.
///         Some(TrapFrame { rip, cs, rsp, vector, error_code, ..TrapFrame::default() })
///     },
/// };
/// let frame = (code.read)(&|address| Some(address), 0x1000);
/// assert_eq!(frame.map(|frame| frame.rip), Some(0x1058));
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TrapCode {
    /// The saved registers, with their offsets from the stack pointer with which the trap code calls its handler: see
    /// [`Unwinder::trap_registers`](unwind::Unwinder::trap_registers).
    pub saved: &'static [SavedRegister],
    /// A function that reads the saved registers as a [`TrapFrame`]; `None` if they cannot be read. Its arguments are a function that reads
    /// the word at an address, and the stack pointer with which the trap code calls its handler.
    pub read: fn(ReadWord<'_>, u64) -> Option<TrapFrame>,
}

/// The state of a task, for a report.
///
/// ```
/// use core::fmt::Display;
/// use postmortem::{Registers, Task};
///
/// struct Thread { name: &'static str, saved: Option<Registers> }
///
/// fn describe(thread: &Thread) -> Task<'_> {
///     let state: &dyn Display = if thread.saved.is_some() { &"ready" } else { &"runs" };
///     Task { name: &thread.name, state, waits_for: None, blocked_by: None, registers: thread.saved, cpu: None }
/// }
///
/// let thread = Thread { name: "main", saved: None };
/// assert_eq!(format!("{:?}", describe(&thread)), "task main: runs");
/// ```
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The name.
    pub name: &'a dyn Display,
    /// The state, in words that follow the name and a colon: "runs on cpu 0", "sleeps for 10 ms".
    pub state: &'a dyn Display,
    /// The lock or event that the task waits for, in words that follow "waits for": "lock ledger, which task main holds". `None` if the
    /// task does not wait, or the reason is not known.
    pub waits_for: Option<&'a dyn Display>,
    /// The number of the task that keeps this task waiting, such as the holder of a lock.
    pub blocked_by: Option<usize>,
    /// The registers with which the task will continue. `None` while it runs, and after it has ended.
    pub registers: Option<Registers>,
    /// The CPU whose stacks the task uses, if it belongs to a CPU and has no stack of its own.
    pub cpu: Option<usize>,
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}: {}", self.name, self.state)
    }
}
