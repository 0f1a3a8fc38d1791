//! Other CPUs in a report by one call: they halt for ever, and the report has the callers of each.
//!
//! Reports come here by a pointer only, so that a kernel that never calls [`stop_others`] contains nothing of this.

use core::fmt::{self, Display, Write};
use core::mem::transmute;
use core::ptr::{NonNull, null_mut};

use super::halted::{Halted, Note};
use super::{BEGUN, Begin, Report, own_stack};
use crate::arch::{self, Registers};
use crate::atomics::{AtomicPtr, AtomicUsize, Ordering, spin_loop};
use crate::cpu;

/// How often to look for answers: for far longer than an interrupt takes, because an emulator may run its CPUs one after another.
const POLLS: u32 = 10_000_000;

static HALTED: Halted<Place> = Halted {
    by: AtomicUsize::new(0),
    last: AtomicPtr::new(null_mut()),
};

/// How many others there are, as the kernel says.
static OTHERS: AtomicUsize = AtomicUsize::new(0);

/// The functions for reports, or null.
static CALLED: AtomicPtr<Functions> = AtomicPtr::new(null_mut());

static FUNCTIONS: Functions = Functions {
    halt_if_asked,
    write,
};

/// What a report does for other CPUs.
pub(super) struct Functions {
    /// Never returns if another CPU has asked this one to halt, whose report has these words and registers then.
    pub(super) halt_if_asked: fn(&dyn Display, Registers, Begin),
    /// Writes of all that have halted.
    pub(super) write: fn(&Report<'_>, &mut dyn Write) -> fmt::Result,
}

/// Where a CPU was.
struct Place {
    /// The words of its own report, if it was about to begin one.
    what: Option<NonNull<dyn Display>>,
    registers: Registers,
    begin: Begin,
}

/// The functions, if a CPU has ever stopped others.
pub(super) fn functions() -> Option<&'static Functions> {
    // SAFETY: null, or a pointer to a static.
    unsafe { CALLED.load(Ordering::Acquire).as_ref() }
}

/// Stops all other CPUs for ever, so that the report that follows, by [`print`](super::print) or its like, is the only one, and has the
/// callers of each of them too. For a failure that ends the kernel: before its report, and not before one from which the kernel goes on.
///
/// `stop` sends all other CPUs an interrupt that reaches them wherever they are, such as an NMI, whose handler calls
/// [`stop_if_asked`]; there are `others` of them. This waits until they have, for some seconds at most, and the report says how many have
/// not. If another CPU has called this before, this returns at once, and `print` never: that CPU's report has what this one was to say.
///
/// ```no_run
/// # struct Serial;
/// # impl core::fmt::Write for Serial { fn write_str(&mut self, _: &str) -> core::fmt::Result { Ok(()) } }
/// # fn send_nmi_to_others() {}
/// // #[panic_handler]
/// fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
///     unsafe { postmortem::stop_others(send_nmi_to_others, 3) };
///     postmortem::print(&mut Serial, info);
///     loop {}
/// }
/// ```
///
/// # Safety
/// Stacks lie at the same addresses for all CPUs: what one has there, this one can read.
pub unsafe fn stop_others(stop: impl FnOnce(), others: usize) {
    let this = cpu::hardware_number();
    CALLED.store((&raw const FUNCTIONS).cast_mut(), Ordering::Release);
    if !HALTED.ask(this) {
        return;
    }
    OTHERS.store(others, Ordering::Relaxed);
    // An interrupt may be faster than a store.
    cpu::publish();
    stop();
    wait(others);
    if BEGUN.take(this) {
        // What that CPU was doing on the stack for reports is to be shown.
        own_stack::give_up();
    }
}

fn wait(others: usize) {
    let mut polls = 0..POLLS;
    // SAFETY: `stop_others` was promised that.
    while unsafe { HALTED.notes() }.count() < others && polls.next().is_some() {
        spin_loop();
    }
}

/// Never returns if another CPU has [stopped](stop_others) this one, whose report has the callers of what was interrupted. Otherwise it
/// does nothing. For the handler of the interrupt that `stop_others` sends; of one that unwind tables describe, such as an `extern
/// "x86-interrupt"` function.
///
/// ```no_run
/// // extern "x86-interrupt" fn nmi(frame: InterruptStackFrame) {
/// postmortem::stop_if_asked();
/// ```
#[inline(always)]
pub fn stop_if_asked() {
    halt(None, arch::capture(), Begin::Interrupted);
    // Whoever calls this stays on the stack: a jump would be no call.
    core::hint::black_box(());
}

/// The same for a handler that has the registers that were interrupted: see [`print_from`](super::print_from).
pub fn stop_if_asked_from(registers: Registers) {
    halt(None, registers, Begin::Here);
}

fn halt_if_asked(what: &dyn Display, registers: Registers, begin: Begin) {
    // SAFETY: the same pointer. It is used only while this CPU stands in this function, where `what` stays.
    let what = unsafe { transmute::<NonNull<dyn Display + '_>, NonNull<dyn Display>>(what.into()) };
    halt(Some(what), registers, begin);
}

#[inline(never)]
fn halt(what: Option<NonNull<dyn Display>>, registers: Registers, begin: Begin) {
    let this = cpu::hardware_number();
    if !HALTED.is_asked(this) {
        return;
    }
    // So that nothing changes what is to be read, and this CPU adds one note only; but another NMI may come.
    cpu::mask_interrupts();
    // SAFETY: `stop_others` was promised that.
    if unsafe { HALTED.notes() }.all(|note| note.cpu != this) {
        let place = Place {
            what,
            registers,
            begin,
        };
        let mut note = Note::new(this, place);
        // SAFETY: it stays, as this never returns.
        unsafe { HALTED.add(&raw mut note) };
        cpu::halt();
    }
}

/// Writes of all that have halted, by their numbers, and how many have not.
fn write(report: &Report<'_>, out: &mut dyn Write) -> fmt::Result {
    // SAFETY: `stop_others` was promised that.
    let notes = || unsafe { HALTED.notes() };
    let after = |last: Option<u32>| {
        let rest = notes().filter(move |note| Some(note.cpu) > last);
        rest.min_by_key(|note| note.cpu)
    };
    let others = OTHERS.load(Ordering::Relaxed);
    let mut silent = others;
    let mut next = after(None);
    while let Some(Note { cpu, of, .. }) = next {
        let head = |out: &mut dyn Write, pc| match of.what {
            // SAFETY: that CPU halts in the function that was given it, so nobody uses it meanwhile.
            Some(what) => writeln!(out, "cpu {cpu}, failed too: {}", unsafe { what.as_ref() }),
            None => writeln!(out, "cpu {cpu}, stopped at {pc:#018x}"),
        };
        report.write_callers(out, of.registers, of.begin, Some(&head))?;
        silent = silent.saturating_sub(1);
        next = after(Some(*cpu));
    }
    match silent {
        0 => Ok(()),
        _ => writeln!(out, "no answer from {silent} of {others} other CPUs"),
    }
}
