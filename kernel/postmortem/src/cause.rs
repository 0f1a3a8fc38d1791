//! The cause of a report.

use core::panic::PanicInfo;

use crate::arch::{Registers, TrapFrame};

/// The cause of a report.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// A panic, with the registers in the panic handler.
    Panic(&'a PanicInfo<'a>, Registers),
    /// An exception that ends the kernel.
    Fault(&'a TrapFrame),
    /// An exception from which the kernel continues.
    Breakpoint(&'a TrapFrame),
    /// An NMI from outside, which requests a report of all CPUs.
    Nmi(&'a TrapFrame),
    /// A hang of the CPU with this number, with the registers of the CPU that found the hang.
    Hang(usize, Registers),
}
