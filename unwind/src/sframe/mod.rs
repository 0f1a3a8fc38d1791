//! SFrame sections: look-up of rows, verification, and the constants of the format.
//!
//! Versions 1, 2, 2 errata 1 and 3 of the format, every ABI, either byte order. Specification: "The SFrame Format",
//! part of GNU binutils. [`Tables`] is the source of rows for walks; [`Section`] reads one section.

mod abi;
mod error;
mod find;
pub mod format;
mod function;
mod row;
mod search;
mod section;
mod tables;
mod tail;
mod usual;
mod verify;
mod words;

pub use abi::Abi;
pub use error::ParseError;
pub use find::Functions;
pub use function::{Function, Rows};
pub use section::{Section, StartRule};
pub use tables::{Sections, Tables};
pub use verify::{Damage, Verified};

pub use crate::lookup::LookupError;
pub use crate::row::{Base, Row, Rule};
