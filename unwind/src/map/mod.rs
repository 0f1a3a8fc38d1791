//! The rule map: the rules for each address, in a form for fast look-ups and little memory.
//!
//! `sframe-link` makes it from the same rows as `.sframe`, and compares both at each row. A map contains only the data that a walk needs. For
//! example, it does not contain the key with which a return address is signed. The module [`mod@format`] describes the format.

mod error;
mod find;
pub mod format;
mod functions;
mod quick;
mod rule;
mod section;

pub use error::MapError;
pub use functions::Functions;
pub use section::Map;
