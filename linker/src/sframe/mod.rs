//! Writes SFrame sections, version 2 errata 1 or version 3, and compares them with the functions that they were written from.

mod compare;
mod function;
mod out;
mod read;
mod row;
pub(crate) mod rule;
mod table;
mod version;

pub(crate) use out::Out;

pub use compare::{Comparison, Difference, Mismatch, compare};
pub use read::functions;
pub use table::Table;
pub use version::Version;

/// Output section of the tables; its type.
pub const SECTION: &str = ".sframe";
/// Input section, and output section as long as it is not filled. It ends with [`SECTION`].
pub const INPUT_SECTION: &str = ".tables.sframe";
