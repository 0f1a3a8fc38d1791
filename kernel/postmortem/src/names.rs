//! What numbers and addresses are called.

use core::fmt::{self, Write};

/// Names for what a trap frame has as numbers.
pub trait Names {
    /// The name of the interrupt with this number, as
    /// [`Platform::interrupt_name`](crate::Platform::interrupt_name) has it.
    fn interrupt(&self, number: u64) -> Option<&'static str>;

    /// Writes the stack that this stack pointer is in: "stack boot", "stack irq overflowed", "no stack".
    ///
    /// # Errors
    /// Those of `out`.
    fn write_place(&self, out: &mut dyn Write, sp: u64) -> fmt::Result;

    /// Writes what is known of an address that could not be used, to append: ", guard page of stack boot", or nothing.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_guard(&self, out: &mut dyn Write, address: u64) -> fmt::Result;
}
