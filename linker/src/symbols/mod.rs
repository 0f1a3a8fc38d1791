//! Names, lines and inlined functions: from `.symtab` and debug information to the bytes of a `.symbols` blob.
//!
//! | step | file |
//! |---|---|
//! | functions of the image, and where their code ends | `collect`, `starts`, `subprograms` |
//! | of several names of a function, the one that calls have | `named` |
//! | names as a report prints them | `demangled`, `short`, `or` |
//! | which instructions there are | `instructions` |
//! | the frames at each of them | `lines`, `path`, `trace` |
//! | debug information, in the image and in other files | `sections`, `split`, `reader` |
//! | lines that are not those of the function | `agree`, `removed`, `dropped`, `folded` |
//! | functions with the frames of their instructions | `code` |
//! | the frames at a single address | `lookup` |
//! | as few rows as a level needs | `rows` |
//! | functions of the source, and what is inlined where | `records` |
//! | rows as bytes, in chunks | `chunks` |
//! | rows as phrases, and names by a grammar | `phrases`, `grammar` |
//! | the rules that both are made of | `repair`, `pairs` |
//! | rows, names and files in parts | `parts` |
//! | all of it behind a header | `blob` |
//! | the lines of a table, compared with debug information as it is | `witness` |

mod agree;
mod blob;
mod chunks;
mod code;
mod collect;
mod compare;
mod demangled;
mod dropped;
mod folded;
mod grammar;
mod instructions;
mod level;
mod lines;
mod lookup;
mod named;
mod or;
mod pairs;
mod parts;
mod path;
mod phrases;
mod printable;
mod reader;
mod records;
mod removed;
mod repair;
mod rows;
mod sections;
mod short;
mod split;
mod starts;
mod subprograms;
mod trace;
mod witness;

pub use agree::Disagreement;
pub use blob::Blob;
pub use code::{Code, Function, Piece, Traced, Unlined};
pub use collect::{Symbol, Symbols};
pub use compare::{Comparison, Coverage, Difference, compare};
pub use instructions::{Coding, Decoded};
pub use level::Level;
pub use lines::{Frame, Texts};
pub use lookup::{DebugLookup, SourceFrame};
pub use named::named;
pub use or::{with_others, without_others};
pub use path::Paths;
pub use printable::printable;
pub use short::short;
pub use split::package_of;
pub use subprograms::of_file as subprograms;
pub use witness::witness;

use demangled::demangled;

/// Output section of the blob.
pub const SECTION: &str = ".symbols";
/// Input section that `tables.ld` collects into [`SECTION`].
pub const INPUT_SECTION: &str = ".tables.symbols";

/// How much of a demangled name is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// Without generic arguments, as [`short()`] makes them.
    #[default]
    Short,
    /// As demangled, without hashes.
    Full,
}

impl Names {
    /// The name of a function, with the names of others that its code may be of.
    #[must_use]
    pub fn of(self, symbol: &Symbol) -> String {
        let others = symbol.or.iter().map(|other| self.name(other));
        with_others(self.name(&symbol.name), others)
    }

    /// The name of a symbol, demangled if it is one of Rust or C++, and [`printable()`]. A name of C++ has no parameters.
    #[must_use]
    pub fn name(self, symbol: &str) -> String {
        let symbol = printable(symbol);
        let Some(full) = demangled(&symbol) else {
            return symbol.into_owned();
        };
        match self {
            Self::Short => short(&full),
            Self::Full => full,
        }
    }
}
