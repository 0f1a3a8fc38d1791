//! The cause of a report.

use core::panic::PanicInfo;

use crate::arch::{Registers, TrapFrame};

/// Why there is a report.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// A panic, with the registers in the panic handler.
    Panic(&'a PanicInfo<'a>, Registers),
    /// An exception that ends the kernel.
    Fault(&'a TrapFrame),
    /// An exception that returns.
    Breakpoint(&'a TrapFrame),
    /// An NMI from outside: a report of all CPUs was asked for.
    Nmi(&'a TrapFrame),
    /// The CPU with this number hangs, as this CPU has found; with this CPU's registers.
    Hang(usize, Registers),
}
