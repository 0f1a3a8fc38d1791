//! Switching from one task to another.

use core::arch::global_asm;

use postmortem::Registers;

pub use crate::arch::tasks::{Entry, Main, switch};

global_asm!(include_str!("switch.s"), options(raw));

unsafe extern "C" {
    /// Where a new task starts. It has no value, only an address.
    static task_start: u8;
}

/// What is at the stack pointer of a task that does not run. ABI: "Procedure Call Standard for the Arm Architecture", 6.1.1 "Core
/// registers".
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct Context {
    r4: u32,
    r5: u32,
    r6: u32,
    r7_to_r11: [u32; 5],
    /// So that the stack pointer stays a multiple of 8.
    r12: u32,
    lr: u32,
}

impl Context {
    /// The context of a new task, which begins with `main`.
    pub fn new(main: Main, entry: Entry, argument: usize) -> Self {
        Self {
            r4: entry as usize as u32,
            r5: argument as u32,
            r6: main as usize as u32,
            r7_to_r11: [0; 5],
            r12: 0,
            lr: &raw const task_start as u32,
        }
    }
}

/// The registers from which to walk the stack of a task that does not run, by its saved stack pointer: those that it has when
/// [`switch`] has returned.
pub fn registers(sp: u64) -> Registers {
    let context = sp as *const Context;
    // SAFETY: `switch` or `Context::new` has stored it there. If the task runs by now, its words have other values, of any of which there
    // are registers.
    let context = unsafe { context.read_volatile() };
    let Context {
        r4,
        r5,
        r6,
        r7_to_r11: [r7, r8, r9, r10, r11],
        lr,
        ..
    } = context;
    let above = sp + size_of::<Context>() as u64;
    Registers::after_call(lr.into(), above, &[r4, r5, r6, r7, r8, r9, r10, r11])
}
