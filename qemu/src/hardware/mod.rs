//! What a kernel is built for and boots on: architectures, and the boards that have them.

mod arch;
mod board;

pub use arch::Arch;
pub use board::Board;
