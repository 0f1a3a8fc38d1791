//! The stacks of exceptions.

use crate::stack::{Exception, Extent, Stack};

/// For every exception: SP_EL1. Everything else runs on SP_EL0.
pub static EXCEPTION: Exception = Stack::new();
/// For an exception that finds the exceptions' stack full.
pub static OVERFLOW: Exception = Stack::new();

/// How many.
pub const COUNT: usize = 2;

/// All of them.
pub fn all() -> [Extent; COUNT] {
    [EXCEPTION.extent("exception"), OVERFLOW.extent("overflow")]
}
