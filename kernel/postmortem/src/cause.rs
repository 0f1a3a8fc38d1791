//! Why there is a report.

use core::panic::PanicInfo;

use crate::arch::{Registers, TrapFrame};

/// Why there is a report.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// A panic, and the registers in its handler.
    Panic(&'a PanicInfo<'a>, Registers),
    /// An exception that ends the kernel.
    Fault(&'a TrapFrame),
    /// An exception that returns.
    Breakpoint(&'a TrapFrame),
    /// Somebody outside wants to know what all CPUs do.
    Nmi(&'a TrapFrame),
    /// The CPU with this number hangs, which this one has found, with these registers.
    Hang(usize, Registers),
}
