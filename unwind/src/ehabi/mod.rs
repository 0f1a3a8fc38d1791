//! ARM's exception tables, `.ARM.exidx` and `.ARM.extab`, read in place: a source of rows for [`arm`](crate::arm).
//!
//! [`Tables`] finds the [`Entry`] of an address. Its [`Opcodes`] describe how to restore the registers of the caller. A walk does not
//! execute the opcodes, but uses the row that is equivalent to them, as for every other format.
//!
//! Source: "Exception Handling ABI for the Arm Architecture" (EHABI32), sections 5 to 7 and 10.
//!
//! # Limits of these tables
//!
//! - **Interrupted functions.** An entry is valid only where its function calls another. A walk takes the step from an interrupted function,
//!   but in doubt: [`End::OnlyAtCalls`](crate::End).
//! - **Several functions.** A function has no size, so its entry extends to the next entry. Linkers merge neighbours with the same opcodes,
//!   so one entry may cover several functions. Lld does not merge entries with `--no-merge-exidx-entries`.
//! - **Trap code.** Entries cannot mark trap code. An entry that restores all sixteen registers, `r0` to `r15`, is used as an entry of trap
//!   code, whose caller is the interrupted frame. Other functions do not restore `r0` to `r3` and `r12`, because no caller expects that.
//! - **Functions without a caller.** They have the entry "cannot unwind", but linkers also write it for all code without an entry. So code
//!   without a caller must be declared: [`Tables::outermost`].

mod entry;
mod error;
mod opcode;
mod row;
mod tables;
mod text;

pub use entry::{Entry, Personality, Unwinding};
pub use error::Error;
pub use opcode::{Opcode, Opcodes};
pub use tables::{Entries, Tables};
