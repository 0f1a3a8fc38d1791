//! What only the kernel knows.

use core::fmt::{self, Display, Write};
use core::time::Duration;

use unwind::SavedRegister;
use unwind::sframe::{Damage, Tables, Verified};

use crate::stack::{Stack, Stacks};
use crate::walk::Walk;
use crate::{Registers, TrapFrame};

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

    /// Writes a trace in the form that this kernel wants. As written here: as text, without registers.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_trace(&self, walk: &Walk, out: &mut dyn Write) -> fmt::Result {
        walk.write(out, false)
    }
}

/// How a kernel's trap code saves registers on the stack, for walks that come across it.
#[derive(Clone, Copy, Debug)]
pub struct TrapCode {
    /// Where they lie, from the stack pointer on with which the trap code calls its handler: see
    /// [`Unwinder::trap_registers`](unwind::Unwinder::trap_registers).
    pub saved: &'static [SavedRegister],
    /// Reads them at that stack pointer, an address, and gives them in the order of [`TrapFrame`]; `None` if they cannot be
    /// read.
    pub read: fn(Stacks<'_>, u64) -> Option<TrapFrame>,
}

/// Bytes of the image.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The bytes.
    pub bytes: &'static [u8],
    /// Where the first of them lies, an address.
    pub address: u64,
}

impl Section {
    /// The bytes where they lie.
    #[must_use]
    pub fn new(bytes: &'static [u8]) -> Self {
        let address = bytes.as_ptr() as u64;
        Self { bytes, address }
    }

    /// The bytes between two symbols of the linker script.
    ///
    /// # Safety
    /// They are part of the image: mapped, readable and constant as long as the kernel runs.
    #[must_use]
    pub unsafe fn between(start: *const u8, end: *const u8) -> Self {
        let length = (end as usize).saturating_sub(start as usize);
        // SAFETY: as for the caller.
        Self::new(unsafe { core::slice::from_raw_parts(start, length) })
    }

    /// The address after the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(self.bytes.len() as u64)
    }
}

/// What a report needs of the kernel's image. What an image does not have is empty.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// All code: what lies between `__text_start` and `__text_end`.
    pub code: Section,
    /// The unwind tables, `.sframe`, between `__sframe_start` and `__sframe_end`.
    pub tables: Tables<'static>,
    /// What [`Tables::verify`] said of them; `None` when nobody has asked yet.
    pub verified: Option<Result<Verified, Damage>>,
    /// The names of functions, `.symbols`, between `__symbols_start` and `__symbols_end`.
    pub symbols: Section,
    /// The build id that the linker put into a note: what tells this image from every other. Empty if it is not known; then
    /// names are taken to be of this image.
    pub build_id: &'static [u8],
}

/// The [`Image`] between the symbols of the linker script that `unwind` and `sframe-link` ask for: `__text_start`, `__text_end`,
/// and those of `tables.ld`. Verified tables and a build id can be filled in.
///
/// In a program on the host, such as a test, there are no such symbols, and everything is empty.
#[cfg(target_os = "none")]
#[macro_export]
macro_rules! image {
    () => {{
        unsafe extern "C" {
            static __text_start: u8;
            static __text_end: u8;
            static __sframe_start: u8;
            static __sframe_end: u8;
            static __symbols_start: u8;
            static __symbols_end: u8;
        }
        // SAFETY: the linker script puts constant bytes of the image between these symbols.
        unsafe {
            $crate::Image::new(
                $crate::Section::between(&raw const __text_start, &raw const __text_end),
                $crate::Section::between(&raw const __sframe_start, &raw const __sframe_end),
                $crate::Section::between(&raw const __symbols_start, &raw const __symbols_end),
            )
        }
    }};
}

#[allow(missing_docs)]
#[cfg(not(target_os = "none"))]
#[macro_export]
macro_rules! image {
    () => {{
        let nothing = $crate::Section::new(&[]);
        $crate::Image::new(nothing, nothing, nothing)
    }};
}

impl Image {
    /// With this code, these tables and these names. Nobody has verified the tables, and the build id is not known.
    #[must_use]
    pub fn new(code: Section, tables: Section, symbols: Section) -> Self {
        Self {
            code,
            tables: Tables::new(tables.bytes, tables.address),
            verified: None,
            symbols,
            build_id: &[],
        }
    }
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
