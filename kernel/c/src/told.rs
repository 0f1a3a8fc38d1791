//! Facts about the kernel's memory, which the kernel sets before anything fails.

use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use postmortem::Range;

/// `struct unwind_stack`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    start: u64,
    end: u64,
}

/// C's `struct unwind_stack (*)(uint64_t)`.
type StackOf = Option<unsafe extern "C" fn(u64) -> Stack>;

/// A [`StackOf`].
static STACK_OF: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Sets the address at which physical memory is mapped.
///
/// # Safety
/// The caller must guarantee the conditions of [`postmortem::physical_memory_at`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_physical_memory_at(address: u64) {
    // SAFETY: the caller guarantees it.
    unsafe { postmortem::physical_memory_at(address) };
}

/// Registers the function that returns the kernel's stacks. Null changes nothing: if it counted as a function, a report could not state
/// that the stacks are unknown.
///
/// # Safety
/// The caller must guarantee the conditions of [`postmortem::stacks_by`], and that the function can be called as long as the kernel runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unwind_stacks_by(stack_of: StackOf) {
    let Some(stack_of) = stack_of else {
        return;
    };
    STACK_OF.store(stack_of as *mut (), Ordering::Release);
    // SAFETY: the caller guarantees it.
    unsafe { postmortem::stacks_by(ask) };
}

/// Records where the current stack begins.
#[unsafe(no_mangle)]
pub extern "C" fn unwind_note_stack() {
    postmortem::note_stack();
}

/// Sets the offsets at which trap code saves x30 and SPSR_EL1, and the bytes that the trap code has on the stack.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
pub extern "C" fn unwind_trap_frame(x30: u32, spsr: u32, size: u32) {
    postmortem::trap_frame(x30, spsr, size);
}

/// Calls the kernel's function for the stack with a stack pointer. An empty stack means none.
fn ask(sp: u64) -> Option<Range> {
    let pointer = STACK_OF.load(Ordering::Acquire);
    // SAFETY: it is null, or `unwind_stacks_by` has stored a function of this type.
    let stack_of = unsafe { transmute::<*mut (), StackOf>(pointer) }?;
    // SAFETY: the caller of `unwind_stacks_by` guarantees it.
    let Stack { start, end } = unsafe { stack_of(sp) };
    (start < end).then(|| Range::new(start, end))
}
