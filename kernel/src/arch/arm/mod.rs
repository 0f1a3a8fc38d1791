//! ARMv7-A with long-descriptor page tables, as the Cortex-A15 has them. Manual chapters are those of the "Arm Architecture Reference
//! Manual, ARMv7-A and ARMv7-R edition".
//!
//! The kernel runs in system mode, and exceptions in supervisor mode, which has a stack pointer of its own: so exceptions have a stack also
//! when the other one is full. User mode has the stack pointer of system mode.

pub mod boot;
pub mod cpu;
pub mod exit;
pub mod firmware;
pub mod frame;
pub mod gic_version3;
pub mod mmu;
pub mod stacks;
pub mod start;
pub mod switch;
pub mod timer;
pub mod user;
mod vectors;

pub use postmortem::arm::{Kind, OVERFLOW_STACK};

pub use super::arms::interrupts;
use super::handlers::{self, Handlers};

/// The architecture's name in a report.
pub const NAME: &str = "armv7a";

/// Sets up the exceptions of the first CPU, with these handlers. Called first after entry.
pub fn init(handlers: &'static Handlers) {
    handlers::set(handlers);
    vectors::init();
    cpu::unmask_urgent();
}

/// Sets up another CPU as the first one was.
pub fn init_cpu(_: usize) {
    vectors::init();
    mmu::switch();
    interrupts::init_cpu();
    cpu::unmask_urgent();
}
