//! What a kernel is built for and boots on: processors, and the boards that have them.

mod arch;
mod board;
mod processor;

pub use arch::Arch;
pub use board::Board;
pub use processor::Processor;
