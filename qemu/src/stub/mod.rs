//! QEMU's stub for gdb, as a client of it: registers and memory of a machine that stands still, and steps.

mod aarch64;
mod answers;
mod armv7a;
mod client;
mod general;
mod run;
mod state;
mod system;
mod x86_64;

pub use aarch64::{Known as KnownArm, SAVED as SAVED_ARM};
pub use answers::{Answers, Paging};
pub use armv7a::{Known as KnownArm32, SAVED as SAVED_ARM32};
pub use client::{Stub, bytes};
pub use general::general;
pub use run::Ran;
pub use state::{Level, Reader, Registers, State};
pub use x86_64::{Known as KnownX86, SAVED as SAVED_X86};
