//! Switching from one task to another.

use core::arch::global_asm;

use postmortem::Registers;

global_asm!(include_str!("switch.s"));

/// The function that a task calls, and ends with.
pub type Entry = fn(usize);

/// The first function of every task, called with the task's [`Entry`] and its argument.
#[allow(
    improper_ctypes_definitions,
    reason = "the pointer goes through a register, from one place of this kernel to another"
)]
pub type Main = extern "C" fn(Entry, usize) -> !;

unsafe extern "C" {
    /// Pushes the callee-saved registers of this task on its stack, stores its stack pointer at `save`, and resumes the task
    /// whose stack pointer is `load`. Returns when this task is resumed.
    ///
    /// # Safety
    /// `load` was stored by this function, or points to a new [`Context`], and has not been resumed since. Interrupts are
    /// masked.
    #[link_name = "task_switch"]
    pub fn switch(save: *mut u64, load: u64);

    /// Where [`switch`] resumes the other task, and where a new task starts. They have no value, only an address.
    static task_resume: u8;
    static task_start: u8;
}

/// What is at the stack pointer of a task that does not run. ABI: System V, "Registers and the Stack Frame".
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Context {
    r15: u64,
    r14: u64,
    r13: u64,
    r12: u64,
    rbx: u64,
    rbp: u64,
    rip: u64,
}

impl Context {
    /// The context of a new task, which begins with `main`.
    pub fn new(main: Main, entry: Entry, argument: usize) -> Self {
        Self {
            r15: 0,
            r14: 0,
            r13: main as usize as u64,
            r12: argument as u64,
            rbx: entry as usize as u64,
            rbp: 0,
            rip: &raw const task_start as u64,
        }
    }
}

/// The registers from which to walk the stack of a task that does not run, by its saved stack pointer.
pub fn registers(sp: u64) -> Registers {
    // The row of `task_resume` finds all other registers on the stack.
    Registers::new(&raw const task_resume as u64, sp, 0)
}
