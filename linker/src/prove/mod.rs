//! Abstract interpretation of machine code: finds for every instruction where the caller's frame begins, and where the return
//! address and the frame pointer are saved, by following each function's instructions from its entry.
//!
//! Compilers describe the same in call frame information, which is wrong in places. A result found here is proven, under the
//! assumptions that `docs/proof.md` lists; where nothing can be proven, the reason is kept instead of a result.
//!
//! Results are not stored for the next link. A key with addresses fits no function any more if all functions have moved. A key without
//! addresses must contain every fact about other code, and a forgotten fact would give a wrong row that nothing detects.
//!
//! | module | does |
//! |---|---|
//! | [`value`], [`machine`], `memory`, [`compare`], [`table`] | the abstract state: registers and stack before an instruction |
//! | [`isa`], [`x86_64`], [`aarch64`], [`arm`] | the transfer function: how an instruction changes that state |
//! | [`follow`], [`block`], [`outcome`], [`addresses`] | one function, through its control flow graph to a fixed point |
//! | [`rounds`], [`world`], [`entries`], [`text`], `multiboot` | all functions, and what they have to know of each other |
//! | [`judge`], `enter`, `find_row`, [`mod@unit`] | compares rows with the state, and makes rows from it |
//! | [`repair`], `strict`, [`tally`], [`origin`] | corrects a table, counts how much is proven, and says where a table's rows come from |
//! | `merge`, `proof`, `rows` | an image: the results of all functions as one, and its rows as corrected by them |

pub mod aarch64;
pub mod addresses;
pub mod arm;
pub mod block;
pub mod compare;
pub mod contradiction;
mod enter;
pub mod entries;
mod find_row;
pub mod follow;
mod imports;
pub mod isa;
pub mod judge;
pub mod machine;
mod memory;
mod merge;
pub(crate) mod multiboot;
pub mod origin;
pub mod outcome;
mod pointed;
mod proof;
pub mod repair;
pub mod rounds;
mod rows;
mod rows_of;
mod strict;
pub mod table;
pub mod tally;
pub mod text;
pub mod unit;
pub mod value;
pub mod world;
pub mod x86_64;

pub use proof::Proof;
pub use repair::Made;
pub use rows::Rows;
