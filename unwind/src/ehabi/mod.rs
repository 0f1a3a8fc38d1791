//! ARM's exception tables, `.ARM.exidx` and `.ARM.extab`, read in place: a source of rows for [`arm`](crate::arm). Source: "Exception
//! Handling ABI for the Arm Architecture" (EHABI32), sections 5 to 7 and 10.
//!
//! [`Tables`] finds the [`Entry`] of an address, whose [`Opcodes`] say how a function's caller is restored. A walk does not
//! execute them: it takes the row that they amount to, as of every other format.
//!
//! What these tables cannot say, and what a walk makes of it:
//!
//! - Entries hold where a function calls another, and nowhere else. A step from an interrupted function is taken, and is in doubt:
//!   [`End::OnlyAtCalls`](crate::End).
//! - A function has no size. Its entry goes on to the next one, and linkers merge neighbours with the same opcodes: what is
//!   called a function here may be several. lld does not with `--no-merge-exidx-entries`.
//! - There is no word for trap code. An entry that restores all sixteen registers, `r0` to `r15`, is taken for one: its caller is what was
//!   interrupted. Functions cannot have such entries, because their callers do not expect `r0` to `r3` and `r12` back.
//! - "Cannot unwind" is said of outermost functions, and by linkers of all code that has no entry. Which of them have no caller must
//!   be told: [`Tables::outermost`].

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
