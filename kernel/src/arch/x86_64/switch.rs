//! Switching from one task to another.

use core::arch::global_asm;

use postmortem::Registers;

pub use crate::arch::tasks::{Entry, Main, switch};

global_asm!(include_str!("switch.s"));

unsafe extern "C" {
    /// The offset in bytes from [`switch`] to the instruction at which it resumes the other task.
    safe static task_resume_offset: u64;
    /// Where a new task starts. It has no value, only an address.
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
    // The row there finds all other registers on the stack.
    let resume = switch as *const () as u64 + task_resume_offset;
    Registers::new(resume, sp, 0)
}
