//! A separate stack for reports, for kernels whose stacks have too little space.

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
/// Not 0 once the kernel has registered a stack.
static END: AtomicU64 = AtomicU64::new(0);

/// Registers a stack on which [`print`](super::print) and its variants run, for a kernel whose own stacks have 4 KiB.
///
/// With this stack, a report uses less than 1.25 KiB of the stack from which it is called, including the kernel's handler; less than 3.5
/// KiB without optimization. The registered stack needs 6.5 KiB; 20 KiB if the library is not optimized. Only the first call has an effect.
///
/// Only one report at a time runs on this stack. A second report meanwhile is one line, on the stack from which it is called. A trace does not
/// read this stack, so that frames of a report are never listed as frames of the failed code.
///
/// ```no_run
/// use postmortem::GuardedStack;
///
/// static REPORT: GuardedStack<0, 24576> = GuardedStack::new();
///
/// // SAFETY: nothing else uses the stack, and the kernel always maps its statics.
/// unsafe { postmortem::report_on(&REPORT) };
/// ```
///
/// # Safety
/// The caller must guarantee that nothing else uses the stack, and that it is mapped at each place where a report begins. A handler that interrupts
/// the report may run on an undeclared stack.
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

/// Makes no later report run on the registered stack.
pub(super) fn give_up() {
    END.store(0, Ordering::Relaxed);
}

/// The registered stack, unless the caller runs on it.
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
            // SAFETY: the stack is mapped and unused: the caller of `report_on` guarantees it, and no other report runs on it. The function
            // gets the argument that it expects, which lives until it returns.
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
/// The caller must guarantee that the argument points to a [`Report`] that nothing else uses until this function returns.
#[cfg(target_os = "none")]
unsafe extern "C" fn call(report: *mut ()) {
    // SAFETY: the caller guarantees it.
    let Report { report, stack } = unsafe { &mut *report.cast::<Report<'_>>() };
    report(Some(*stack));
}
