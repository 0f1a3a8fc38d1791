//! The board of 32 bits.

use super::arms::Board;
use super::virt::Virt;

/// All of them.
pub static BOARDS: [&dyn Board; 1] = [&Virt];

/// The only one.
pub const fn by_cpu() -> &'static dyn Board {
    &Virt
}
