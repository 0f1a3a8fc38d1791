//! The SFrame section: how it is laid out, and how a row is found in it.
//!
//! Versions 1, 2, 2 errata 1 and 3 of the format, every ABI, either byte order. Specification: "The SFrame Format",
//! part of GNU binutils.

mod abi;
mod error;
pub mod format;
mod function;
mod row;
mod section;
mod tables;

pub use abi::Abi;
pub use error::{LookupError, ParseError};
pub use function::{Function, Rows};
pub use row::{Base, Row, Rule};
pub use section::{Functions, Section, StartRule};
pub use tables::{Sections, Tables};
