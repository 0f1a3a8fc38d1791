//! Writes rule maps, and compares them with the `.sframe` that is made from the same rows. The format is that of
//! [`unwind::map`].

mod changes;
mod compare;
mod regions;
mod rule;
mod table;
mod unfit;

pub use compare::{Comparison, Difference, compare};
pub use table::Map;
pub use unfit::Unfit;

/// Output section of the map.
pub const SECTION: &str = ".unwind_map";
/// Input section of the map.
pub const INPUT_SECTION: &str = ".tables.unwind_map";
