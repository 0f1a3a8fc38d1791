//! From one task to another.

use core::arch::global_asm;

use postmortem::Registers;

global_asm!(include_str!("switch.s"));

/// What a task does: a function, and what it is called with.
pub type Entry = fn(usize);

/// Where every task begins, with what it does.
#[allow(
    improper_ctypes_definitions,
    reason = "the pointer goes through a register, from one place of this kernel to another"
)]
pub type Main = extern "C" fn(Entry, usize) -> !;

unsafe extern "C" {
    /// Keeps this task's registers on its stack, stores its stack pointer at `save`, and goes on with the task that once
    /// stored `load`. Returns when somebody goes on with this one.
    ///
    /// # Safety
    /// `load` was stored by this function, or is of a new [`Context`], and nobody has gone on from there since.
    /// Interrupts are masked.
    #[link_name = "task_switch"]
    pub fn switch(save: *mut u64, load: u64);

    /// Where [`switch`] goes on with the other task, and where a new task starts; only the addresses count.
    static task_resume: u8;
    static task_start: u8;
}

/// What lies at the stack pointer of a task that does not run. ABI: System V, "Registers and the Stack Frame".
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
    /// That of a task that begins with `main`.
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

/// The registers that a walk of a task starts from which stored this stack pointer.
pub fn registers(sp: u64) -> Registers {
    // The rules at this place find everything else on the stack.
    Registers::new(&raw const task_resume as u64, sp, 0)
}
