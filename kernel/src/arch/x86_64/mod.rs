//! x86-64. Manual chapters are those of the "Intel 64 and IA-32 Architectures Software Developer's Manual".

pub mod boot;
pub mod cpu;
pub mod exit;
pub mod interrupts;
mod machine_check;
pub mod mmu;
pub mod stacks;
pub mod start;
pub mod switch;
pub mod timer;
pub mod trap;
pub mod user;
mod vectors;

use super::handlers::{self, Handlers};

/// The architecture's name in a report.
pub const NAME: &str = "x86_64";

/// Sets up the exceptions of the first CPU, with these handlers. Called first after entry.
pub fn init(handlers: &'static Handlers) {
    handlers::set(handlers);
    vectors::init(0);
    machine_check::enable();
}

/// Sets up another CPU as the first one was.
pub fn init_cpu(index: usize) {
    vectors::init(index);
    machine_check::enable();
    mmu::switch();
    interrupts::init_cpu();
}
