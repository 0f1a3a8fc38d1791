//! The trait for names of the numbers in a trap frame.

use core::fmt::{self, Write};

/// Names for the numbers and addresses in a trap frame. [`Stacks`](crate::Stacks) implements it.
pub trait Names {
    /// Returns the name of the interrupt with this number: see [`Platform::interrupt_name`](crate::Platform::interrupt_name).
    fn interrupt(&self, number: u64) -> Option<&'static str>;

    /// Writes the stack that contains this stack pointer, such as "stack boot", "stack irq overflowed" or "no stack".
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    fn write_place(&self, out: &mut dyn Write, sp: u64) -> fmt::Result;

    /// Writes the stack whose guard page contains an address whose access failed, such as ", guard page of stack boot"; or nothing.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    fn write_guard(&self, out: &mut dyn Write, address: u64) -> fmt::Result;
}
