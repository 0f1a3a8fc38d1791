//! The bytes of an SFrame section, version 3, and their comparison with what they should say.

mod blocks;
mod compare;
mod row;
mod table;

pub use compare::{Comparison, Difference, compare};
pub use table::Table;

/// Output section of the tables; its type.
pub const SECTION: &str = ".sframe";
/// Input section that `tables.ld` collects into [`SECTION`].
pub const INPUT_SECTION: &str = ".sframe.table";
