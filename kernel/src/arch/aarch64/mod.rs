//! AArch64. Manual chapters are those of the "Arm Architecture Reference Manual for A-profile architecture".

pub mod boot;
pub mod cpu;
pub mod exit;
pub mod firmware;
pub mod frame;
pub mod gic_version3;
mod local;
pub mod mmu;
pub mod stacks;
pub mod start;
pub mod switch;
pub mod timer;
pub mod user;
mod vectors;

pub use postmortem::aarch64::{Kind, OVERFLOW_STACK};

pub use super::arms::interrupts;
use super::handlers::{self, Handlers};
pub use local::Local;

/// The architecture's name in a report.
pub const NAME: &str = "aarch64";

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
