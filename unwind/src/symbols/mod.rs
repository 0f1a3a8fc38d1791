//! The symbol table: from an address to a name.

mod crc32;
pub mod format;
mod table;

pub use table::{Symbol, SymbolTable, SymbolsError};
