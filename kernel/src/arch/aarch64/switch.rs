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

/// What is at the stack pointer of a task that does not run. ABI: "Procedure Call Standard for the Arm 64-bit Architecture",
/// 6.1.1 "General-purpose Registers".
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Context {
    x19: u64,
    x20: u64,
    x21: u64,
    x22_to_x28: [u64; 7],
    x29: u64,
    x30: u64,
}

impl Context {
    /// The context of a new task, which begins with `main`.
    pub fn new(main: Main, entry: Entry, argument: usize) -> Self {
        Self {
            x19: entry as usize as u64,
            x20: argument as u64,
            x21: main as usize as u64,
            x22_to_x28: [0; 7],
            x29: 0,
            x30: &raw const task_start as u64,
        }
    }
}

/// The registers from which to walk the stack of a task that does not run, by its saved stack pointer.
pub fn registers(sp: u64) -> Registers {
    // The row there finds all other registers on the stack.
    let resume = switch as *const () as u64 + task_resume_offset;
    Registers::new(resume, sp, 0, 0)
}
