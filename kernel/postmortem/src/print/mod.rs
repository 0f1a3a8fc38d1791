//! A report from one function call, in a kernel that declares neither a [`Platform`](crate::Platform) nor stacks nor trap code.
//!
//! A walk starts at the stack pointer and continues upwards. Before each read, the page tables show whether memory is mapped there. The
//! start of the stack is a constant in the boot code, or is known from [`note_stack`] or [`stacks_by`]. Otherwise the walk ends in the
//! outermost function, and the report states that the start of the stack is unknown.

mod begins;
mod begun;
mod halted;
mod linked;
mod memory;
mod others;
#[cfg_attr(
    not(all(target_os = "none", feature = "report-stack")),
    path = "callers_stack.rs"
)]
mod own_stack;
mod stack;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod tests;
mod trap_frame;

use core::fmt::{self, Display, Write};
use core::mem::transmute;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use unwind::report::Text;
use unwind::{
    Code, Event, Fallbacks, Frame, Frames, How, InheritedDoubt, Memory, Range, RowSource, Trace,
    Undeclared, Unwinder,
};

use crate::arch::{INSTRUCTION, Registers, for_walk, frames, write_known};
use crate::code;
use crate::cpu::{self, Masked};
use crate::image::Image;
use crate::kernel_text::KernelText;
use crate::machine::Machine;
use crate::module::{self, Loaded, Rows};
use crate::modules::Reading;
use crate::regions::Regions;
use crate::stack::ReadWord;
use crate::walk::{SHOWN, write_symbols};

pub use begins::note_stack;
use begun::Begun;
use memory::Stacks;
pub use memory::{physical_memory_at, stacks_by, start};
pub use others::{stop_if_asked, stop_if_asked_from, stop_others};
pub use stack::{print_stack, print_stack_from};
#[cfg(not(target_arch = "x86_64"))]
pub use trap_frame::trap_frame;

/// The largest number of frames: those of a recursion that has filled megabytes.
const FRAMES: u32 = 1 << 16;

/// What has begun, and not ended.
static BEGUN: Begun = Begun::new();

/// The subject of the report that is being written, on the stack of the CPU that writes it; or null.
static WRITTEN: AtomicPtr<Subject> = AtomicPtr::new(null_mut());

/// Writes a report to `out`: `what` as the first line, the machine and its tables, registers, and all callers of this function, across
/// interrupts and exceptions.
///
/// Call it in a panic handler, with the [`PanicInfo`](core::panic::PanicInfo) as `what`, or in an exception handler that unwind tables
/// describe, such as an `extern "x86-interrupt"` function. The image needs the tables that `sframe-link` adds; without them, a line states
/// that.
///
/// With the feature `report-stack`, which is on by default, the report and `out` run on a stack of 32 KiB that is a static of this crate. The
/// report then uses less than 1.25 KiB of the stack from which it is called, or less than 3.5 KiB if nothing is optimized. A trace does not
/// read the report's stack, so that frames of a report are never listed as frames of the failed code.
///
/// The function takes no lock, allocates nothing and does not panic. It reads mapped memory, and no devices: on Arm it queries the MMU, on
/// x86-64 the page tables and MTRRs, after [`physical_memory_at`]. A failure in `what`, in `out`, in an interrupt handler or on another CPU
/// during the report adds one line; a failure during that line adds nothing. If the report never ends, later failures remain one line each.
///
/// ```no_run
/// # struct Serial;
/// # impl core::fmt::Write for Serial { fn write_str(&mut self, _: &str) -> core::fmt::Result { Ok(()) } }
/// // #[panic_handler]
/// fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
///     postmortem::print(&mut Serial, info);
///     loop {}
/// }
/// ```
#[inline(always)]
pub fn print(out: &mut dyn Write, what: &dyn Display) {
    let registers = crate::arch::capture();
    print_from(out, what, registers);
    // The calling function stays on the stack until the report is written: a jump to the report would not be a call.
    core::hint::black_box(());
}

/// Writes a report like [`print`] that starts at the interrupted instruction, without the frames of the handler itself.
///
/// For a handler that unwind tables describe and that gets only an `InterruptStackFrame`: a walk through the handler finds the other
/// registers. If nothing was interrupted, the report has all frames.
///
/// ```no_run
/// # struct Serial;
/// # impl core::fmt::Write for Serial { fn write_str(&mut self, _: &str) -> core::fmt::Result { Ok(()) } }
/// // extern "x86-interrupt" fn page_fault(frame: InterruptStackFrame, code: PageFaultErrorCode) {
/// postmortem::print_interrupted(&mut Serial, &"page fault");
/// ```
#[inline(always)]
pub fn print_interrupted(out: &mut dyn Write, what: &dyn Display) {
    let registers = crate::arch::capture();
    print_report(out, what, &registers, Begin::Interrupted);
    core::hint::black_box(());
}

/// Writes a report like [`print`] that starts from `registers` of the interrupted code, as the kernel's own trap code saved them.
///
/// ```no_run
/// # use postmortem::Registers;
/// # #[cfg(target_arch = "x86_64")]
/// # fn handler(out: &mut dyn core::fmt::Write, [rip, rsp, rbp, cs]: [u64; 4]) {
/// // On AArch64: `Registers::new(elr, sp, x29, x30).with_spsr(spsr)`. `cs` or `spsr` shows whether the interrupted code is user code.
/// postmortem::print_from(out, &"exception", Registers::new(rip, rsp, rbp).with_cs(cs));
/// # }
/// ```
pub fn print_from(out: &mut dyn Write, what: &dyn Display, registers: Registers) {
    print_report(out, what, &registers, Begin::Here);
}

/// The first frame of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    /// The frame of the registers.
    Here,
    /// The first one that was interrupted.
    Interrupted,
}

/// The subject of a report: pointers to data on a stack. The code must use them only as long as the data stays there.
#[derive(Clone, Copy, Debug)]
struct Subject {
    /// What happened; nothing if its CPU was only stopped.
    what: Option<NonNull<dyn Display>>,
    registers: NonNull<Registers>,
    begin: Begin,
}

impl Subject {
    fn of(what: &dyn Display, registers: &Registers, begin: Begin) -> Self {
        // SAFETY: the pointer is the same. It may outlive its target, but then is not used.
        let what =
            unsafe { transmute::<NonNull<dyn Display + '_>, NonNull<dyn Display>>(what.into()) };
        Self {
            what: Some(what),
            registers: registers.into(),
            begin,
        }
    }
}

#[inline(never)]
fn print_report(out: &mut dyn Write, what: &dyn Display, registers: &Registers, begin: Begin) {
    let what = &KernelText(what);
    once(out, what, registers, begin, |out| {
        let last_line = own_stack::run(&mut |own| {
            if others::functions().is_some() {
                // One that was stopped may have begun a line.
                let _ = out.write_str("\n");
            }
            let stacks = begin_report(out, what, own);
            let _ = linked::write_unmapped(out, &stacks);
            let read = |address| stacks.read(address);
            let (image, regions) = linked::image(&stacks);
            let mut report = Report {
                image,
                regions,
                modules: Reading::begin(),
                read: &read,
                stack_of: &|sp| stacks.of(sp),
            };
            let _ = report.write(out, registers, begin);
        });
        let _ = last_line.map(|line| out.write_str(line));
    });
}

/// Writes a report, unless one has begun already: then a line with `what` happened. If another CPU has stopped this one, that CPU's
/// report has this one's words and callers, and this never returns.
fn once(
    out: &mut dyn Write,
    what: &dyn Display,
    registers: &Registers,
    begin: Begin,
    report: impl FnOnce(&mut dyn Write),
) {
    let mut subject = Subject::of(what, registers, begin);
    if let Some(others) = others::functions() {
        (others.halt_if_asked)(&subject);
    }
    alone(out, what, |out| {
        WRITTEN.store(&raw mut subject, Ordering::Relaxed);
        report(out);
        WRITTEN.store(null_mut(), Ordering::Relaxed);
    });
}

/// The same for a report that no other CPU's report has: which has no room for that.
fn alone(out: &mut dyn Write, what: &dyn Display, report: impl FnOnce(&mut dyn Write)) {
    // A task that runs on another CPU when it goes on would be taken for another report.
    let _masked = Masked::new();
    let (before, writer) = BEGUN.begin(cpu::hardware_number());
    match before {
        0 => report(out),
        1 => drop(writeln!(out, "during the report: {what}")),
        _ => {}
    }
    BEGUN.end(writer);
}

/// Writes the first lines of a report, which runs on the stack `own` if that is its own. Each part of a report is written even if
/// one before it has failed.
fn begin_report(out: &mut dyn Write, what: &dyn Display, own: Option<Range>) -> Stacks {
    let _ = writeln!(out, "{}", Whole(what));
    let stacks = Stacks::told(own);
    let _ = stacks.write_missing(out);
    stacks
}

/// A text whose `Display` may fail. The error is dropped, so that what follows the text is written.
struct Whole<'a>(&'a dyn Display);

impl Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = self.0.fmt(f);
        Ok(())
    }
}

/// Makes [`print`] and its variants write nothing from now on, on any CPU.
///
/// For a failure that has written its last line and then enters an exception handler, which might report again or return to the failed
/// code.
pub fn print_no_more() {
    BEGUN.no_more();
}

/// Writes what a trace begins with, which begins at this program counter.
type Head<'h> = &'h dyn Fn(&mut dyn Write, u64) -> fmt::Result;

/// One report.
struct Report<'a> {
    image: Image,
    /// Its code.
    regions: Regions,
    /// What was loaded besides.
    modules: Option<Reading>,
    /// Reads a word, if it is memory.
    read: ReadWord<'a>,
    /// The stack with a stack pointer, if it is known.
    stack_of: &'a dyn Fn(u64) -> Option<Range>,
}

impl Report<'_> {
    /// Writes everything that follows the first line.
    fn write(&mut self, out: &mut dyn Write, registers: &Registers, begin: Begin) -> fmt::Result {
        let others = others::functions();
        // Each part is written even if one before it has failed.
        let _ = self.write_machine(out, others.is_some());
        let written = self.write_callers(out, registers, begin, None);
        others.map_or(written, |others| (others.write)(self, out))
    }

    /// Verifies the tables, and writes what that has found. Not inlined, as what it takes of the stack is not needed later.
    #[inline(never)]
    fn write_machine(&mut self, out: &mut dyn Write, has_others: bool) -> fmt::Result {
        let machine = Machine::verify(&mut self.image, &self.regions);
        if has_others {
            write!(out, "cpu {}, ", cpu::hardware_number())?;
        }
        writeln!(out, "{machine}")
    }

    /// Writes callers, after the registers with which they begin, or after the text of `head`, which gets the first program counter.
    fn write_callers(
        &self,
        out: &mut dyn Write,
        registers: &Registers,
        begin: Begin,
        head: Option<Head<'_>>,
    ) -> fmt::Result {
        let (code, count) = self.regions.code();
        let tables = self.image.rows();
        let rows = Rows::new(&tables, self.modules());
        let (saved, told) = trap_frame::told();
        // By reference: walks are copied.
        let unwinder = Unwinder::new(&rows)
            // A scan lists what may have been called long ago; and where it may look, is not known.
            .trap_registers(saved.get(..told).unwrap_or_default())
            .fallbacks(Fallbacks::all().difference(Fallbacks::SCAN))
            .limit(FRAMES);
        let unwinder = match code.get(..count) {
            None | Some([]) => unwinder,
            Some(code) => unwinder.code(code).more_code(self.module_code()),
        };
        let frames_from = |registers| {
            frames(
                &unwinder,
                registers,
                Undeclared::new(self.read, self.stack_of),
            )
        };
        let (mut first, mut before) = (for_walk(*registers), 0);
        let mut earlier = None;
        let mut pc = registers.pc;
        if begin == Begin::Interrupted
            && let Some(found) = first_interrupted(&|| frames_from(first))
        {
            (pc, before) = (found.registers.pc, found.before);
            // A walk can begin there if it is known with what, and then all its frames are of interest.
            if head.is_some() && found.fp_is_known {
                (first, before) = (found.registers, 0);
                earlier = Some(found.doubt);
            }
        }
        match head {
            Some(head) => head(out, pc)?,
            None if before == 0 => write_known(out, registers, true)?,
            None => {}
        }
        let mut frames = frames_from(first);
        if let Some(earlier) = earlier {
            frames = frames.continues(earlier);
        }
        frames.by_ref().take(before).for_each(drop);
        let left_out = frames.found();
        let names = |pc| module::names(self.modules(), pc);
        let text = Text::new(write_symbols(&self.image, out)?).symbols_at(&names);
        if left_out != 0 {
            text.write(out, &Event::<Registers>::LeftOut(left_out))?;
        }
        Trace::new(frames)
            .ends(SHOWN.0, SHOWN.1)
            .tell(&mut |event| {
                if let Event::Frame(_, frame) = event {
                    self.write_interrupted(out, frame)?;
                }
                text.write(out, event)
            })
            .map(|_| ())
    }

    fn modules(&self) -> &[Loaded] {
        let reading = self.modules.as_ref();
        reading.map(Reading::modules).unwrap_or_default()
    }

    fn module_code(&self) -> &[Code<'_>] {
        let reading = self.modules.as_ref();
        reading.map(Reading::code).unwrap_or_default()
    }

    /// Writes what is known of an interrupted frame: the registers that rows describe, and the code.
    fn write_interrupted(&self, out: &mut dyn Write, frame: &Frame<Registers>) -> fmt::Result {
        match frame.registers {
            Some(registers) if frame.how == How::TrapFrame => {
                write_known(out, &registers, frame.fp_known)?;
                out.write_str("  ")?;
                let code = module::section(self.modules(), frame.pc);
                let code = code.unwrap_or_else(|| self.regions.with(frame.pc));
                code::write(out, code, frame.pc, INSTRUCTION)
            }
            _ => Ok(()),
        }
    }
}

/// The first frame of a walk that was interrupted.
struct Interrupted {
    /// How many are before it.
    before: usize,
    registers: Registers,
    fp_is_known: bool,
    /// Whether the walk up to there is in doubt.
    doubt: InheritedDoubt,
}

/// Looks for it. Not inlined, so that this walk is on the stack only meanwhile.
#[inline(never)]
fn first_interrupted<'u, M: Memory, S: RowSource>(
    walk: &dyn Fn() -> Frames<'u, Registers, M, S>,
) -> Option<Interrupted> {
    let mut frames = walk();
    let is_interrupted = |(_, frame): &(_, Frame<_>)| frame.how == How::TrapFrame;
    let (before, frame) = frames.by_ref().enumerate().find(is_interrupted)?;
    Some(Interrupted {
        before,
        registers: frame.registers?,
        fp_is_known: frame.fp_known,
        doubt: frames.inherited(),
    })
}
