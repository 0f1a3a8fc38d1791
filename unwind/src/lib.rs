//! A stack unwinder for kernels: from the registers of any instruction, it finds the chain of callers, on any stack, and reports why the list
//! ends.
//!
//! # Start here
//!
//! 1. Link the kernel with `sframe-link`, which adds unwind tables and symbols.
//! 2. Create an [`Unwinder`] from the tables ([`ImageTables`]) and the kernel's code ([`Code`]).
//! 3. Start a walk with [`Unwinder::frames`]: with the registers ([`x86_64::Registers`], [`aarch64::Registers`], [`arm::Registers`],
//!    [`s390x::Registers`]) and the memory to read ([`Stacks`], [`Undeclared`] or [`Unbounded`]).
//! 4. Iterate over the frames ([`Frames`], [`Frame`]), then call [`Frames::end`]. Or write a report ([`report::Backtrace`], [`compact`],
//!    [`mod@markup`], [`Trace`]), with names from a [`symbols::SymbolTable`].
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
//! # use example::{CODE, TABLE};
//! use unwind::{Code, End, ImageTables, Range, Stacks, Unwinder, x86_64::Registers};
//!
//! // `TABLE` describes an entry function at 0x1000, and a function at 0x1010 that pushes its frame pointer. `CODE` is their code. In a
//! // kernel, both are between linker symbols.
//! let tables = ImageTables::new(&TABLE, 0x2000);
//! let code = [Code::new(&CODE, 0x1000)];
//! // The stack of the second function, which was called from 0x1005: the saved frame pointer and the return address.
//! let words = [0, 0x1005];
//! let stacks = [Range::new(0x8000, 0x8010)];
//! let read = |address| words.get((address as usize - 0x8000) / 8).copied();
//!
//! let unwinder = Unwinder::new(tables.verified(tables.verify())).code(&code);
//! let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&stacks, read));
//! let pcs: Vec<u64> = frames.by_ref().map(|frame| frame.pc).collect();
//! assert_eq!(pcs, [0x1018, 0x1005]);
//! assert_eq!(frames.end(), Some(End::Complete));
//! ```
//!
//! Other examples use the same program: `STACK` is its stack, and `read` returns a word of it. `ENTRY_TABLE` describes the entry function only,
//! and `MAP` is a rule map for both functions.
//!
//! # Promises
//!
//! - No allocation, no `unsafe`, no lock, no mutable static. No panic, except in `Debug` output: every function accepts any input.
//! - No read outside the memory that you pass, and no read of a word that is not aligned. Each walk ends after finitely many steps
//!   ([`Stacks`] explains why).
//! - Frames that were found are never lost. A frame that was found without a table is marked in [`Frame::how`].
//! - [`End::Complete`] means that every caller is in the list, under the assumptions in the repository's `docs/proof.md`: each step used a
//!   proven row, a call precedes each return address and leads to the function of the previous frame, directly or by tail calls, and the stack
//!   is empty at the last frame. A walk with tables that were verified ([`ImageTables::verify`]) and found damaged never ends so.
//!
//! The crate does not restore callee-saved registers that no row needs (SFrame does not describe them; exception tables and rule maps for ARM
//! do), catch panics, or read DWARF.
//!
//! # Addresses and offsets
//!
//! An address is a `u64`. An offset or a size in a table is a `u32`, `i32` or `i64`, so that the compiler distinguishes them. There are no types
//! for both, because a kernel would have to wrap and unwrap every number from a linker symbol, a register or a trap frame.
//!
//! # Features
//!
//! The features `sframe`, `map` and `symbols` contain the readers of these formats, and are on by default. Without a feature, its code is not in
//! the kernel, and its bytes are rejected with the error `LeftOut`. With `defmt`, which is off by default, the public types implement
//! `defmt::Format`.
//!
//! # Extension
//!
//! A further table format implements [`RowSource`].
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

pub mod aarch64;
mod analysis;
pub mod arm;
mod bytes;
#[cfg(target_has_atomic = "64")]
mod cache;
mod code;
mod code_checksums;
pub mod compact;
mod crc32;
pub mod ehabi;
mod list;
mod lookup;
pub mod map;
pub mod markup;
mod memory;
mod readers;
mod reads;
mod registers;
pub mod report;
mod restored;
mod row;
mod rules;
pub mod s390x;
pub mod sframe;
mod source;
mod stack_pointers;
mod stacks;
pub mod symbols;
mod text;
mod trace;
mod undeclared;
mod verdict;
mod walk;
pub mod x86_64;

pub use bytes::ByteOrder;
#[cfg(target_has_atomic = "64")]
pub use cache::RuleCache;
pub use code::Code;
pub use lookup::{Found, LookupError, Proof};
pub use memory::{Memory, Range, Unbounded};
pub use registers::{Machine, RegisterSet};
pub use restored::Restored;
pub use row::{Base, Kept, Row, Rule};
pub use rules::Rules;
#[cfg(target_has_atomic = "64")]
pub use source::Cached;
pub use source::{ArmTables, ArmVerified, CodeReader, FunctionAt, ImageTables, RowSource};
pub use stacks::{MAX_STACKS, Stacks};
pub use trace::{Event, Trace};
pub use undeclared::Undeclared;
pub use verdict::{Doubt, End, How, InheritedDoubt};
pub use walk::{Fallbacks, Frame, FrameKind, Frames, SavedRegister, Unwinder};

/// The README's examples, which documentation tests compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
