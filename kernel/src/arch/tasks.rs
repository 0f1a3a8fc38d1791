//! What of switching tasks is the same on all architectures: how a task is called, and the switch, `switch.s` of each.

/// The function that a task calls, and ends with.
pub type Entry = fn(usize);

/// The first function of every task, called with the task's [`Entry`] and its argument.
#[allow(
    improper_ctypes_definitions,
    reason = "a task argument is a pointer passed within this kernel"
)]
pub type Main = extern "C" fn(Entry, usize) -> !;

unsafe extern "C" {
    /// Pushes the callee-saved registers of this task on its stack, stores its stack pointer at `save`, and resumes the task
    /// whose stack pointer is `load`. Returns when this task is resumed.
    ///
    /// # Safety
    /// `load` was stored by this function, or points to a new [`Context`](super::switch::Context), and has not been resumed since.
    /// Interrupts are masked.
    #[link_name = "task_switch"]
    pub fn switch(save: *mut u64, load: u64);
}
