//! Other CPUs in a report from one function call. The other CPUs halt forever, and the report has the callers of each.
//!
//! Reports use a pointer to the functions in this file, so that a kernel that never calls [`stop_others`] does not contain them.

use core::fmt::{self, Write};
use core::ptr::null_mut;

use super::halted::{Halted, Note};
use super::{BEGUN, Begin, Report, Subject, WRITTEN, own_stack};
use crate::arch::{self, Registers};
use crate::atomics::{AtomicPtr, AtomicUsize, Ordering, spin_loop};
use crate::cpu;

/// How often to look for answers: for far longer than an interrupt takes, because an emulator may run its CPUs one after another.
const POLLS: u32 = 10_000_000;

static HALTED: Halted<Subject> = Halted {
    by: AtomicUsize::new(0),
    last: AtomicPtr::new(null_mut()),
};

/// The number of other CPUs, from the kernel.
static OTHERS: AtomicUsize = AtomicUsize::new(0);

/// The functions for reports, or null.
static CALLED: AtomicPtr<Functions> = AtomicPtr::new(null_mut());

static FUNCTIONS: Functions = Functions {
    halt_if_asked,
    write,
};

/// What a report does for other CPUs.
pub(super) struct Functions {
    /// Never returns if another CPU has requested this CPU to halt. The report of that CPU then has this subject.
    pub(super) halt_if_asked: fn(&Subject),
    /// Writes the callers of each CPU that has halted.
    pub(super) write: fn(&Report<'_>, &mut dyn Write) -> fmt::Result,
}

/// The functions, if a CPU has ever stopped others.
pub(super) fn functions() -> Option<&'static Functions> {
    // SAFETY: null, or a pointer to a static.
    unsafe { CALLED.load(Ordering::Acquire).as_ref() }
}

/// Stops all other CPUs forever, so that the report that follows is the only one and has the callers of each CPU, too.
///
/// Call it before the report of a failure that ends the kernel, never before a report from which the kernel continues. `stop` sends all
/// `others` other CPUs an interrupt that reaches them in any state, such as an NMI, whose handler calls [`stop_if_asked`].
///
/// The function waits until they have stopped, for some seconds at most; the report contains the number of CPUs that have not. If another
/// CPU has called this function before, it returns immediately, and [`print`](super::print) never returns: the report of that CPU has the
/// words and callers of this CPU.
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
/// The caller must guarantee that all CPUs map stacks at the same addresses, so that this CPU can read the stacks of the others.
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
        // The report must show what that CPU was doing on the stack for reports.
        own_stack::give_up();
    }
}

fn wait(others: usize) {
    let mut polls = 0..POLLS;
    // SAFETY: the caller of `stop_others` guarantees it.
    while unsafe { HALTED.notes() }.count() < others && polls.next().is_some() {
        spin_loop();
    }
}

/// Halts this CPU forever if another CPU has called [`stop_others`]. Otherwise it does nothing.
///
/// Call it in the handler of the interrupt that `stop_others` sends, if unwind tables describe that handler, as they do for an `extern
/// "x86-interrupt"` function. The report of the other CPU has the callers of the interrupted code.
///
/// ```no_run
/// // extern "x86-interrupt" fn nmi(frame: InterruptStackFrame) {
/// postmortem::stop_if_asked();
/// ```
#[inline(always)]
pub fn stop_if_asked() {
    stop_at(arch::capture(), Begin::Interrupted);
    // The calling function stays on the stack: a jump would not be a call.
    core::hint::black_box(());
}

/// Halts this CPU like [`stop_if_asked`], for a handler that has the registers of the interrupted code: see
/// [`print_from`](super::print_from).
///
/// ```no_run
/// extern "C" fn nmi(frame: &mut postmortem::TrapFrame) {
///     postmortem::stop_if_asked_from(frame.registers());
/// }
/// ```
pub fn stop_if_asked_from(registers: Registers) {
    stop_at(registers, Begin::Here);
}

#[inline(never)]
fn stop_at(registers: Registers, begin: Begin) {
    let here = Subject {
        what: None,
        registers: (&registers).into(),
        begin,
    };
    let report = match BEGUN.is_by(cpu::hardware_number()) {
        // SAFETY: null, or the subject of a report that this CPU has not ended, so it is still there.
        true => unsafe { WRITTEN.load(Ordering::Relaxed).as_ref() },
        false => None,
    };
    // Of a CPU that writes a report that is of interest, and not where it does.
    halt_if_asked(report.unwrap_or(&here));
}

fn halt_if_asked(subject: &Subject) {
    let this = cpu::hardware_number();
    if !HALTED.is_asked(this) {
        return;
    }
    // So that nothing changes what is to be read; but an NMI may still come, when there is a note already.
    cpu::mask();
    // SAFETY: the caller of `stop_others` guarantees it.
    if unsafe { HALTED.notes() }.all(|note| note.cpu != this) {
        let mut note = Note::new(this, *subject);
        // SAFETY: it stays, as this never returns.
        unsafe { HALTED.add(&raw mut note) };
        cpu::halt();
    }
}

/// Writes the callers of each CPU that has halted, ordered by number, and how many CPUs have not halted.
fn write(report: &Report<'_>, out: &mut dyn Write) -> fmt::Result {
    // SAFETY: the caller of `stop_others` guarantees it.
    let notes = || unsafe { HALTED.notes() };
    let after = |last: Option<u32>| {
        let rest = notes().filter(move |note| Some(note.cpu) > last);
        rest.min_by_key(|note| note.cpu)
    };
    let others = OTHERS.load(Ordering::Relaxed);
    let mut silent = others;
    let mut next = after(None);
    while let Some(Note { cpu, of, .. }) = next {
        // SAFETY: that CPU halts above the function that was given it, so it stays, and nobody uses it meanwhile.
        let what = of.what.map(|what| unsafe { what.as_ref() });
        let head = |out: &mut dyn Write, pc| match what {
            Some(what) => writeln!(out, "cpu {cpu}, also failed: {what}"),
            None => writeln!(out, "cpu {cpu}, stopped at {pc:#018x}"),
        };
        // SAFETY: so do these.
        let registers = unsafe { of.registers.as_ref() };
        // What cannot be written of one CPU leaves out no other.
        let _ = report.write_callers(out, registers, of.begin, Some(&head));
        silent = silent.saturating_sub(1);
        next = after(Some(*cpu));
    }
    match silent {
        0 => Ok(()),
        _ => writeln!(out, "no answer from {silent} of {others} other CPUs"),
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::sync::PoisonError;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::super::tests::ONE_REPORT;
    use super::super::{print_from, print_stack_from};
    use super::*;
    use crate::kernel_text::INCOMPLETE;

    /// As if no CPU had ever stopped others.
    struct Restore;

    impl Drop for Restore {
        fn drop(&mut self) {
            HALTED.by.store(0, Ordering::Relaxed);
            HALTED.last.store(null_mut(), Ordering::Relaxed);
            CALLED.store(null_mut(), Ordering::Relaxed);
        }
    }

    fn report(what: &str) -> String {
        let mut out = String::new();
        print_from(&mut out, &what, Registers::new(0x1000, 0x8000, 0));
        out
    }

    /// Threads are CPUs: one is interrupted, one is about to report, and one does not answer.
    #[test]
    fn a_report_is_about_all_that_have_stopped() {
        static GOES_ON: AtomicBool = AtomicBool::new(false);
        let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
        let _restore = Restore;
        stop_if_asked_from(Registers::new(0, 0, 0));
        let goes_on = || GOES_ON.store(true, Ordering::Relaxed);
        let stop = || {
            // This one has asked.
            stop_if_asked_from(Registers::new(0, 0, 0));
            thread::spawn(move || {
                stop_if_asked_from(Registers::new(0x2000, 0x8000, 0));
                goes_on();
            });
            thread::spawn(move || {
                report("second");
                goes_on();
            });
        };
        // SAFETY: threads have one memory.
        unsafe { stop_others(stop, 3) };
        // SAFETY: the same; it is not the first.
        unsafe { stop_others(|| panic!("stop_others was called twice"), 9) };
        let text = report("the first");
        let unreadable = "no stack is readable, because stacks_by was not called and the program runs under an operating system";
        let begin = format!("\nthe first\n{unreadable}\ncpu ");
        assert!(text.starts_with(&begin), "{text}");
        let end = "\nno answer from 1 of 3 other CPUs\n";
        assert!(text.ends_with(end), "{text}");
        for head in [
            ", stopped at 0x0000000000002000\n",
            ", also failed: second\n",
        ] {
            assert_eq!(text.matches(head).count(), 1, "{text}");
        }
        assert_eq!(text.matches("end of backtrace: ").count(), 3, "{text}");
        assert!(!GOES_ON.load(Ordering::Relaxed));
    }

    /// Its `Display` writes a part, and fails.
    struct Broken;

    impl fmt::Display for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("half")?;
            Err(fmt::Error)
        }
    }

    #[test]
    fn a_text_that_fails_ends_its_own_line_only() {
        let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
        let _restore = Restore;
        let stop = || {
            let noted = |count| {
                // SAFETY: threads have one memory.
                while unsafe { HALTED.notes() }.count() < count {
                    spin_loop();
                }
            };
            for (number, pc) in [0x2000, 0x3000].into_iter().enumerate() {
                thread::spawn(move || {
                    print_from(&mut String::new(), &Broken, Registers::new(pc, 0x8000, 0));
                });
                noted(number + 1);
            }
        };
        // SAFETY: threads have one memory.
        unsafe { stop_others(stop, 2) };
        let mut text = String::new();
        print_from(&mut text, &Broken, Registers::new(0x1000, 0x8000, 0));
        let half = format!("half{INCOMPLETE}\n");
        assert_eq!(text.matches(&half).count(), 3, "{text}");
        assert_eq!(text.matches("end of backtrace: ").count(), 3, "{text}");
    }

    /// It fails once, where a trace ends.
    struct FailsOnce {
        text: String,
        has_failed: bool,
    }

    impl Write for FailsOnce {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if text.contains("end of backtrace") && !std::mem::replace(&mut self.has_failed, true) {
                return Err(fmt::Error);
            }
            self.text.push_str(text);
            Ok(())
        }
    }

    #[test]
    fn a_writer_that_fails_once_loses_no_list_of_another_cpu() {
        let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
        let _restore = Restore;
        let stop = || {
            thread::spawn(|| stop_if_asked_from(Registers::new(0x2000, 0x8000, 0)));
        };
        // SAFETY: threads have one memory.
        unsafe { stop_others(stop, 2) };
        let mut out = FailsOnce {
            text: String::new(),
            has_failed: false,
        };
        print_from(&mut out, &"the first", Registers::new(0x1000, 0x8000, 0));
        let text = out.text;
        assert_eq!(text.matches(", stopped at 0x").count(), 1, "{text}");
        assert_eq!(text.matches("end of backtrace: ").count(), 1, "{text}");
        assert!(
            text.ends_with("\nno answer from 1 of 2 other CPUs\n"),
            "{text}"
        );
    }

    #[test]
    fn a_text_that_fails_ends_the_first_line_of_the_smallest_report() {
        let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        print_stack_from(&mut text, &Broken, Registers::new(0x1000, 0x8000, 0));
        assert!(text.starts_with("half"), "{text}");
        assert!(text.contains("\nno stack is readable, because "), "{text}");
    }

    #[test]
    fn a_cpu_that_is_stopped_in_its_report_has_that_report() {
        struct Stops(AtomicBool);
        impl fmt::Display for Stops {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self.0.swap(false, Ordering::Relaxed) {
                    BEGINS.store(true, Ordering::Release);
                    while !HALTED.is_asked(cpu::hardware_number()) {
                        spin_loop();
                    }
                    stop_if_asked_from(Registers::new(0x3000, 0x8000, 0));
                }
                f.write_str("other")
            }
        }
        static BEGINS: AtomicBool = AtomicBool::new(false);
        let _guard = ONE_REPORT.lock().unwrap_or_else(PoisonError::into_inner);
        let _restore = Restore;
        thread::spawn(|| {
            let what = Stops(AtomicBool::new(true));
            print_from(&mut String::new(), &what, Registers::new(0x2000, 0x8000, 0));
        });
        while !BEGINS.load(Ordering::Acquire) {
            spin_loop();
        }
        // SAFETY: threads have one memory.
        unsafe { stop_others(|| (), 1) };
        let text = report("this one");
        let (_, other) = text.split_once(", also failed: other\n").expect(&text);
        assert!(other.contains("   0: 0x0000000000002000 p\n"), "{text}");
        assert!(!text.contains("no answer"), "{text}");
        assert!(!text.contains("during the report"), "{text}");
    }
}
