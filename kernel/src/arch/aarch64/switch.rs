//! Switching from one task to another.

use core::arch::global_asm;

use postmortem::Registers;

pub use crate::arch::tasks::{Entry, Main, switch};

global_asm!(include_str!("switch.s"));

unsafe extern "C" {
    /// Where [`switch`] resumes the other task, and where a new task starts. They have no value, only an address.
    static task_resume: u8;
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
    // The row of `task_resume` finds all other registers on the stack.
    Registers::new(&raw const task_resume as u64, sp, 0, 0)
}
