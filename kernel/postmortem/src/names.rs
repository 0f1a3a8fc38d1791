//! The trait by which a trap frame's numbers get names.

use core::fmt::{self, Write};

/// Names for the numbers and addresses in a trap frame.
pub trait Names {
    /// The name of the interrupt with this number, as
    /// [`Platform::interrupt_name`](crate::Platform::interrupt_name) has it.
    fn interrupt(&self, number: u64) -> Option<&'static str>;

    /// Writes the stack that this stack pointer is in: "stack boot", "stack irq overflowed", "no stack".
    ///
    /// # Errors
    /// The errors of `out`.
    fn write_place(&self, out: &mut dyn Write, sp: u64) -> fmt::Result;

    /// Writes what is known of an address whose access failed, to append: ", guard page of stack boot", or nothing.
    ///
    /// # Errors
    /// The errors of `out`.
    fn write_guard(&self, out: &mut dyn Write, address: u64) -> fmt::Result;
}
