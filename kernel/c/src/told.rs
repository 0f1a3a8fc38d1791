//! What the kernel tells of its memory before anything fails.

use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use postmortem::{GuardedStack, Range};

/// `struct unwind_stack`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    start: u64,
    end: u64,
}

/// `struct unwind_report_stack`.
type ReportStack = GuardedStack<0, 0x4000>;

/// C's `struct unwind_stack (*)(uint64_t)`.
type StackOf = Option<unsafe extern "C" fn(u64) -> Stack>;

/// A [`StackOf`].
static STACK_OF: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Tells where physical memory is mapped.
///
/// # Safety
/// That of [`postmortem::physical_memory_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_physical_memory_at(address: u64) {
    // SAFETY: the caller's promise.
    unsafe { postmortem::physical_memory_at(address) };
}

/// Tells who knows the kernel's stacks. Null is nobody, and changes nothing: a report could not say that stacks are missing if it were
/// taken for somebody.
///
/// # Safety
/// That of [`postmortem::stacks_by`]; and the function can be called as long as the kernel runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_stacks_by(stack_of: StackOf) {
    let Some(stack_of) = stack_of else {
        return;
    };
    STACK_OF.store(stack_of as *mut (), Ordering::Release);
    // SAFETY: the caller's promise.
    unsafe { postmortem::stacks_by(ask) };
}

/// Tells where trap code saves x30 and SPSR_EL1, and how many bytes in all.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
pub extern "C" fn unwind_trap_frame(x30: u32, spsr: u32, size: u32) {
    postmortem::trap_frame(x30, spsr, size);
}

/// Tells a stack for reports. Null changes nothing.
///
/// # Safety
/// That of [`postmortem::report_on`]; and `stack` is null or points to one that is aligned to a page, and stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_report_on(stack: *mut ReportStack) {
    // SAFETY: the caller's promise.
    if let Some(stack) = unsafe { stack.as_ref() } {
        // SAFETY: the caller's promise.
        unsafe { postmortem::report_on(stack) };
    }
}

/// Asks the kernel for the stack with a stack pointer. An empty one is none.
fn ask(sp: u64) -> Option<Range> {
    let pointer = STACK_OF.load(Ordering::Acquire);
    // SAFETY: it is null, or `unwind_stacks_by` has stored a function of this type.
    let stack_of = unsafe { transmute::<*mut (), StackOf>(pointer) }?;
    // SAFETY: whoever told it promises that.
    let Stack { start, end } = unsafe { stack_of(sp) };
    (start < end).then(|| Range::new(start, end))
}
