//! The oracle: a call stack kept from what the machine does, compared with the walk between every two instructions.
//!
//! ```text
//! machine ──► state ──► shadow ──► compare ──► tally
//! QEMU, its   registers who waits  the walk    equal, excused,
//! memory, its and what  for whom   of `unwind`  wrong
//! stub        is next
//! ```
//!
//! The shadow stack knows the registers, the bytes of code and a few names that the kernel promises; the walk knows the tables.

mod aarch64;
pub mod armv7a;
mod command;
mod compare;
mod excuses;
mod follow;
mod image;
mod machine;
mod memory;
mod names;
mod passage;
mod running;
mod shadow;
mod stale;
mod state;
mod steps;
mod subject;
mod tally;
mod total;
mod turns;
mod x86_64;

pub use command::{Oracle, oracle};
pub use compare::{Compared, Listed, Lists};
pub use follow::{Plan, follow};
pub use image::Image;
pub use machine::Machine;
pub use names::Names;
pub use tally::Tally;
