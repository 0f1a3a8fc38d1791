//! A stack of its own for the report, which needs more than some kernels have left, or have at all.

use core::sync::atomic::{AtomicU64, Ordering};

use unwind::Range;

use crate::guarded_stack::GuardedStack;

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
core::arch::global_asm!(include_str!("x86_64.s"));
#[cfg(all(target_os = "none", target_arch = "aarch64"))]
core::arch::global_asm!(include_str!("aarch64.s"));
#[cfg(all(target_os = "none", target_arch = "arm"))]
core::arch::global_asm!(include_str!("arm.s"), options(raw));

/// Not 0 from the first call of [`report_on`] on.
static START: AtomicU64 = AtomicU64::new(0);
/// Not 0 once the kernel has told its stack.
static END: AtomicU64 = AtomicU64::new(0);

/// Gives [`print`](super::print) a stack: for a kernel whose own ones have 4 KiB. With what the kernel's handler takes, less than 1.25 KiB is
/// used of the stack from which it is called then, and less than 3.5 KiB where nothing is optimized. This one needs 6.5 KiB, and 20 KiB if
/// the library is not optimized. The first call counts.
///
/// One report at a time runs on it. What comes meanwhile is one line, which is written on the stack that it comes from. A trace does not
/// read this stack, so nothing of a report is taken for what has failed.
///
/// # Safety
/// Nothing else uses the stack, and it is mapped wherever a report begins. A handler that interrupts the report does not need to be on
/// a stack that the kernel knows.
pub unsafe fn report_on<const GUARD: usize, const WORDS: usize>(
    stack: &'static GuardedStack<GUARD, WORDS>,
) {
    let words = stack.of_cpu("report", 0).words;
    // A report finds both ends of one stack, or none.
    let is_first = START.compare_exchange(0, words.start, Ordering::Relaxed, Ordering::Relaxed);
    if is_first.is_ok() {
        END.store(words.end, Ordering::Release);
    }
}

/// No other report runs on the stack that was told.
pub(super) fn give_up() {
    END.store(0, Ordering::Relaxed);
}

/// The stack that is told, unless the caller runs on it.
fn free() -> Option<Range> {
    let end = END.load(Ordering::Acquire);
    let stack = Range::new(START.load(Ordering::Relaxed), end);
    let is_there = end != 0 && !stack.holds_stack_pointer(crate::capture().sp);
    is_there.then_some(stack)
}

/// Calls `report` with the stack of its own that it runs on, if it does. No other report is being written.
pub(super) fn run(report: &mut dyn FnMut(Option<Range>)) {
    match free() {
        #[cfg(target_os = "none")]
        Some(stack) => {
            let mut report = Report { report, stack };
            // SAFETY: the stack is mapped and nothing else uses it, as `report_on` was told, nor does another report. The function
            // gets what it expects, which lives until it returns.
            unsafe { postmortem_call_on_stack((&raw mut report).cast(), call, stack.end) }
        }
        _ => report(None),
    }
}

#[cfg(target_os = "none")]
struct Report<'r> {
    report: &'r mut dyn FnMut(Option<Range>),
    stack: Range,
}

#[cfg(target_os = "none")]
unsafe extern "C" {
    /// Calls `function` with `report` on the empty stack that ends at the address `stack`.
    ///
    /// # Safety
    /// The stack is memory, and not in use; the function can be called with `report`.
    fn postmortem_call_on_stack(
        report: *mut (),
        function: unsafe extern "C" fn(*mut ()),
        stack: u64,
    );
}

/// # Safety
/// The argument points to a [`Report`] that nobody else uses meanwhile.
#[cfg(target_os = "none")]
unsafe extern "C" fn call(report: *mut ()) {
    // SAFETY: the caller says so.
    let Report { report, stack } = unsafe { &mut *report.cast::<Report<'_>>() };
    report(Some(*stack));
}
