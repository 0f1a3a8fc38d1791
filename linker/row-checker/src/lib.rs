//! Accepts a row of an unwind table only where each way through the code brings a state from which the row follows.
//!
//! Another program searches for rows, and may guess. The checker shares no fact with it: it gets the code and the rows. Nothing is decided
//! by values: a branch goes both ways, and a jump table has every entry that can be one.
//!
//! # Modules
//!
//! | module | content |
//! |---|---|
//! | [`check`] | the one pass over all code that is trusted: compares claims with what one step brings, and rows with states |
//! | [`claims`] | what is claimed of the code, the search for claims, and whether they hold |
//! | [`row`] | what a row says, and whether it follows from a state |
//! | [`mod@derive`] | rows that follow from states, for instructions without an accepted row |
//! | [`tables`], above [`graph`] | jump tables; all instructions, and where control goes from each |
//! | [`state`], above [`value`] | what is known before an instruction, and where ways meet |
//! | [`x86_64`], [`aarch64`], [`arm`] | decoders, to the form in [`instruction`] |
//! | [`architecture`], above [`program`] | a calling convention; an image's code and rows |
//!
//! The rules by which a row is judged, and the assumptions, are in `docs/proof.md`, at the top of the repository.

pub mod aarch64;
pub mod architecture;
pub mod arm;
pub mod check;
pub mod claims;
pub mod derive;
pub mod graph;
pub mod instruction;
pub mod program;
pub mod row;
pub mod state;
pub mod tables;
pub mod value;
pub mod x86_64;
