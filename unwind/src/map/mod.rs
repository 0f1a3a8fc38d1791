//! The rule map: which rules hold at an address, in a form that is made for look-ups and for little memory. `linker` makes it
//! from the same rows as `.sframe`, and compares both at each row.
//!
//! The layout is in `FORMAT.md`. A map says what a walk needs, and no more: by which key a return address is signed, only `.sframe`
//! tells.

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
