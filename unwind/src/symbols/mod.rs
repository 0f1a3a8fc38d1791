//! The symbol table: names, files and lines for an address. [`SymbolTable`] reads it, and [`mod@format`] describes its format.

mod answer;
mod error;
pub mod format;
mod grammar;
mod list;
mod phrases;
mod record;
mod rows;
mod table;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Precision, SourceFrame, Text, are_of_one_function};
pub use error::SymbolsError;
pub use table::SymbolTable;
