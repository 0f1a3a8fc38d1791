//! The bytes of an SFrame section, version 2 errata 1 or 3, and their comparison with what they should say.

mod blocks;
mod compare;
mod function;
mod out;
mod read;
mod row;
mod table;
mod version;

pub use compare::{Comparison, Difference, What, compare};
pub use read::functions;
pub use table::Table;
pub use version::Version;

/// Output section of the tables; its type.
pub const SECTION: &str = ".sframe";
/// Input section that `tables.ld` collects into [`SECTION`].
pub const INPUT_SECTION: &str = ".sframe.table";
