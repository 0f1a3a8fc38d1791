//! Writes rule maps, reads them back, and compares them with the rows that they are made of, and with the `.sframe` of the same rows. The
//! format is that of [`unwind::map`].

mod changes;
mod compare;
mod meant;
mod read;
mod regions;
mod rule;
mod table;
mod unfit;

pub use compare::{Comparison, Difference, compare};
pub use meant::compare_with;
pub use read::{fill_gaps, functions, row, row_at};
pub use table::Map;
pub use unfit::Unfit;

/// Output section of the map.
pub const SECTION: &str = ".unwind_map";
/// Input section of the map.
pub const INPUT_SECTION: &str = ".tables.unwind_map";
