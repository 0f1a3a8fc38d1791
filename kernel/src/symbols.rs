//! What somebody outside may rely on: debuggers' scripts, tests, a program that walks the stacks of a dump. Whatever is not
//! named here may have another name tomorrow.
//!
//! Labels of assembly:
//!
//! | name | what it is |
//! | --- | --- |
//! | `kernel_entry` | the outermost function of the first CPU |
//! | `start_entry` on x86-64, `start_high` on AArch64, `start_outermost` on ARM | that of each other CPU |
//! | `task_begin` | that of each task |
//! | `task_start` | where a new task begins, by the return from `task_switch`; in `task_begin` |
//! | `task_switch` | where a task leaves its CPU; it goes on at `task_resume`, in the same function |
//! | `exception_NUMBER` | a vector |
//! | `exception_overflow_NUMBER` | of 64 bits of Arm, where a vector goes on that has found no room on the stack |
//! | `trap_entry` | saves registers, calls the handler, and returns from it |
//! | `trap_return_above` | on Arm, returns from the handler to code on the same stack |
//! | `trap_preempted` | on Arm, where a task goes on that the timer interrupted |
//! | `call_on_stack` | on x86-64, calls a handler on the stack of interrupts |
//! | `postmortem_read` | the read of a word that may not be there |
//!
//! Of linker scripts: `__sframe_start`, `__data_start`. The others are the statics below, each the address of something, or
//! where an array lies. A script reads them: `break *AT_LEAVE`, `print TASKS`.

use core::fmt;
use core::mem::offset_of;

use unwind::{Doubt, End, report};

use crate::arch::{exit, stacks};
use crate::platform;
use crate::stack::{self, GUARD, Stack};
use crate::task::{self, Task};
use crate::verdict::Verdict;

/// Things of one size, one behind the other.
#[repr(C)]
pub struct Array {
    /// The address of the first one.
    first: *const (),
    /// How many there are.
    count: usize,
    /// Bytes from one to the next.
    stride: usize,
    /// Of each stack, bytes of the guard pages that it begins with; of each task, bytes at its begin that are as [`TASKS`] says.
    guard: usize,
    /// Bytes in use behind those.
    size: usize,
}

// SAFETY: an address and numbers, through which nothing is read here.
unsafe impl Sync for Array {}

const fn all<const SIZE: usize, const COUNT: usize>(
    stacks: &'static [Stack<SIZE>; COUNT],
) -> Array {
    Array {
        first: stacks.as_ptr().cast(),
        count: COUNT,
        stride: size_of::<Stack<SIZE>>(),
        guard: GUARD,
        size: SIZE,
    }
}

/// The stacks that CPUs run on from their entries.
#[used]
#[unsafe(no_mangle)]
static STACKS_BOOT: Array = all(&stack::BOOT);

/// The stacks of exceptions: each CPU's.
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
#[used]
#[unsafe(no_mangle)]
static STACKS_EXCEPTION: Array = all(&stacks::EXCEPTION);

/// The stacks of exceptions that find the others full: each CPU's.
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
#[used]
#[unsafe(no_mangle)]
static STACKS_OVERFLOW: Array = all(&stacks::OVERFLOW);

/// The stacks of interrupts: each CPU's.
#[cfg(target_arch = "x86_64")]
#[used]
#[unsafe(no_mangle)]
static STACKS_INTERRUPT: Array = all(&stacks::INTERRUPT);

/// The stacks of NMIs: each CPU's.
#[cfg(target_arch = "x86_64")]
#[used]
#[unsafe(no_mangle)]
static STACKS_NMI: Array = all(&stacks::NMI);

/// The stacks of double faults: each CPU's.
#[cfg(target_arch = "x86_64")]
#[used]
#[unsafe(no_mangle)]
static STACKS_DOUBLE_FAULT: Array = all(&stacks::DOUBLE_FAULT);

/// The stacks of machine checks: each CPU's.
#[cfg(target_arch = "x86_64")]
#[used]
#[unsafe(no_mangle)]
static STACKS_MACHINE_CHECK: Array = all(&stacks::MACHINE_CHECK);

/// The stacks of tasks that are no CPU's: the last ones of [`TASKS`], in their order.
#[used]
#[unsafe(no_mangle)]
static STACKS_TASK: Array = all(&task::STACKS);

/// The tasks. Each begins with five words. The first is its state, the number of the ended one being 5; the second the stack pointer
/// with which it goes on at `task_resume`. That is 0 while the task is on its stack, whatever its state says; but out of date for some
/// instructions after it has come back: whoever is on its stack is it. Then follow 15 bytes of its name and a byte that says how many of them it has; and the address
/// of the lock that it waits for, or 0. A lock begins with three words: the address of its name, the name's bytes, and the number of
/// the task that holds it plus 1, or 0.
#[used]
#[unsafe(no_mangle)]
static TASKS: Array = Array {
    first: task::TASKS.as_ptr().cast(),
    count: task::MAX_TASKS,
    stride: size_of::<Task>(),
    guard: offset_of!(Task, wants) + size_of::<usize>(),
    size: size_of::<Task>(),
};

/// Ends the machine with a verdict.
#[used]
#[unsafe(no_mangle)]
static AT_LEAVE: fn(Verdict) -> ! = exit::leave;

/// Reports every task.
#[used]
#[unsafe(no_mangle)]
static AT_DUMP: fn(&mut dyn fmt::Write) -> fmt::Result = platform::write_tasks;

/// The first function in Rust.
#[used]
#[unsafe(no_mangle)]
static AT_MAIN: extern "C" fn(u64) -> ! = crate::kernel_main;

/// Writes the last line of a CPU's or a task's trace.
#[used]
#[unsafe(no_mangle)]
static AT_REPORT_END: fn(&mut dyn fmt::Write, End, Option<Doubt>, u32) -> fmt::Result =
    report::write_end;

/// Has an interrupted task go on at `trap_preempted`, when the interrupt returns.
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
#[used]
#[unsafe(no_mangle)]
static AT_PREEMPTION: unsafe fn(&mut postmortem::TrapFrame) = crate::arch::frame::move_to_task;
