//! The stack on which reports run, so that a report needs little space on the stack of the failed code.

use core::sync::atomic::{AtomicBool, Ordering};

use unwind::Range;

use crate::guarded_stack::GuardedStack;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(include_str!("x86_64.s"));
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(include_str!("aarch64.s"));
#[cfg(target_arch = "arm")]
core::arch::global_asm!(include_str!("arm.s"), options(raw));

/// Bytes of the stack. A report uses 6.5 KiB, or 20 KiB if nothing is optimized. The kernel's writer gets the rest.
const SIZE: usize = 0x8000;

/// Words of 8 bytes at the low end of the stack. They are zero, like the rest of `.bss`, unless a report has used nearly all of the stack.
const LAST: usize = 64;

/// The last line of a report if reports have used all of the stack.
const USED_UP: &str = "the report used all 32 KiB of its stack and may have overwritten kernel data: use less stack in the function that prints the report's text\n";

/// The stack. Only one report at a time runs on it, because [`super::BEGUN`] admits one report only.
///
/// The runner finds it by its name: see `of_reports` in `qemu/src/stacks.rs`.
///
/// The static is mapped at each place where a report begins, because the counters of reports are statics of the same section.
static REPORT: GuardedStack<0, SIZE> = GuardedStack::new();

/// Whether another CPU halted while it wrote a report on the stack, so that its frames must stay.
static IS_GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Makes no later report run on the stack.
pub(super) fn give_up() {
    IS_GIVEN_UP.store(true, Ordering::Relaxed);
}

/// The stack, unless the caller runs on it.
fn free() -> Option<Range> {
    if IS_GIVEN_UP.load(Ordering::Relaxed) {
        return None;
    }
    let stack = REPORT.of_cpu("report", 0).words;
    (!stack.holds_stack_pointer(crate::capture().sp)).then_some(stack)
}

/// Calls `report` with the stack that it runs on, or with `None` if it runs on the caller's stack. Returns the last line of the
/// report if reports have used all of the stack. No other report is being written.
pub(super) fn run(report: &mut dyn FnMut(Option<Range>)) -> Option<&'static str> {
    let Some(stack) = free() else {
        report(None);
        return None;
    };
    let mut report = Report { report, stack };
    // SAFETY: the stack is mapped, because it is a static, and unused, because no other report is being written. The function gets the
    // argument that it expects, which lives until it returns.
    unsafe { postmortem_call_on_stack((&raw mut report).cast(), call, stack.end) };
    is_used_up(stack).then_some(USED_UP)
}

/// Whether the last words of the stack were used. A report that needed more than the stack has overwritten the statics below it.
fn is_used_up(stack: Range) -> bool {
    let first = stack.start as *const u64;
    // SAFETY: the words are part of the static, and nothing runs on the stack.
    (0..LAST).any(|word| unsafe { first.add(word).read_volatile() } != 0)
}

struct Report<'r> {
    report: &'r mut dyn FnMut(Option<Range>),
    stack: Range,
}

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
unsafe extern "C" fn call(report: *mut ()) {
    // SAFETY: the caller guarantees it.
    let Report { report, stack } = unsafe { &mut *report.cast::<Report<'_>>() };
    report(Some(*stack));
}
