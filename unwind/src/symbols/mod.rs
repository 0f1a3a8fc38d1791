//! The symbol table: from an address to a name.

pub mod format;
