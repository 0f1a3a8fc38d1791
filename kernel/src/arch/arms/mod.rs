//! What 32-bit and 64-bit processors of Arm's have in common: firmware and semihosting, the dispatch of exceptions, the interrupt controller,
//! the format of page tables, and the stacks of exceptions.

pub mod exit;
pub mod interrupts;
pub mod pages;
pub mod stacks;
pub mod trap;
