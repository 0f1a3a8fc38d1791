//! Names of functions: from `.symtab`, demangled and shortened, to the bytes of a `.symbols` blob.

mod blob;
mod collect;
mod short;

pub use blob::Blob;
pub use collect::{Symbol, Symbols};
pub use short::short;

/// Output section of the blob.
pub const SECTION: &str = ".symbols";
/// Input section that `tables.ld` collects into [`SECTION`].
pub const INPUT_SECTION: &str = ".symbols.table";

/// How much of a demangled name is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// Without generic arguments: see [`short()`].
    #[default]
    Short,
    /// As demangled, without hashes.
    Full,
}

impl Names {
    /// The name that a symbol of the object file is given. What is not Rust's is kept as it is.
    #[must_use]
    pub fn name(self, symbol: &str) -> String {
        let Ok(demangled) = rustc_demangle::try_demangle(symbol) else {
            return symbol.to_owned();
        };
        let full = format!("{demangled:#}");
        match self {
            Self::Short => short(&full),
            Self::Full => full,
        }
    }
}
