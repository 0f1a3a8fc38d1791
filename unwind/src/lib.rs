//! An SFrame unwinder for kernels: who called whom, from any instruction, on any stack, and why the list ends.
//!
//! What you give it:
//!
//! - the bytes of `.sframe`, where they lie, and their address ([`sframe::Tables`]), or another [`RowSource`]: [`map::Map`];
//!   [`ImageTables`], which is whichever of both an image has; ARM's exception tables ([`ehabi::Tables`]), and both of them ([`ArmTables`]);
//! - the registers to start from ([`x86_64::Registers`], [`aarch64::Registers`], [`arm::Registers`], [`s390x::Registers`]);
//! - a way to read the stack ([`Memory`]: [`Stacks`], which never reads outside the ranges you name);
//! - the code ([`Unwinder::code`]), by which each return address is checked: without it a walk works, and is never complete;
//! - if you have one, a `.symbols` blob ([`symbols::SymbolTable`]).
//!
//! What you get: [`Frames`], an iterator, and its [`End`]; or all of it as events ([`Trace`]), which are written as text
//! ([`report::Backtrace`]), as markup ([`mod@markup`]), in lines of a given width ([`compact`]) or in a form of your own, line by line as the walk goes.
//!
//! What it promises:
//!
//! - No allocation, no `unsafe`, no lock, no mutable static, no panic: every function is total on any input.
//! - No read outside the memory you gave it, none of a word that is not aligned, and an end after finitely many steps
//!   ([`Stacks`] is the proof).
//! - Frames already found are not lost. A frame that was not found by table is marked in its [`How`], and the end says
//!   [`End::Complete`] only if every caller up to the base of the last stack was found by table, and a call stands before each
//!   return address that leads to the function of the frame before it, directly or by tail calls; and never by tables that were
//!   verified ([`sframe::Tables::verify`]) and found damaged.
//!
//! An address is a `u64`, and an offset never is (`u32`, `i32`, `i64`), so that none is taken for the other. Newtypes
//! for both were rejected: every number that a kernel has, from a linker symbol, a register or a trap frame, would have to be
//! wrapped where it comes in and unwrapped where it goes out.
//!
//! What it does not do: restore callee-saved registers where it does not need them (SFrame does not describe them; ARM's exception
//! tables and rule maps do), catch unwinding, read DWARF.
//!
//! ```
//! use unwind::{Code, End, Range, Stacks, Unwinder, sframe::Tables, x86_64::Registers};
//!
//! # let table: [u8; 107] = [
//! #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 47, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
//! #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
//! #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 7, 0, 0, 0,
//! #     1, 0, 0, 0, 0,  0, 0,
//! #     2, 0, 0, 0, 0,  0, 3, 8,  1, 5, 16, 0xf0,
//! #     0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K',
//! #     0x20, 0x40, 0x34, 0x4a, b'S', b'F', b'C', b'K',
//! # ];
//! // `table` describes an entry function at 0x1000 and a function at 0x1010 that pushes its frame pointer.
//! let tables = Tables::new(&table, 0x2000);
//! // The code of the entry function: `call 0x1010`.
//! let code = [Code::new(&[0xe8, 0x0b, 0, 0, 0], 0x1000)];
//! // The stack of that function, called from 0x1005: the saved frame pointer and the return address.
//! let words = [0, 0x1005];
//! let stack = Range::new(0x8000, 0x8010);
//! let read = |address| words.get((address as usize - 0x8000) / 8).copied();
//! let ranges = [stack];
//! let unwinder = Unwinder::new(tables).code(&code);
//! let mut frames = unwinder.frames(Registers::new(0x1018, 0x8000, 0), Stacks::new(&ranges, read));
//!
//! let pcs: Vec<u64> = frames.by_ref().map(|frame| frame.pc).collect();
//! assert_eq!(pcs, [0x1018, 0x1005]);
//! assert_eq!(frames.end(), Some(End::Complete));
//! ```
//!
//! # Features
//!
//! `sframe`, `map` and `symbols`, on by default, are the readers of these formats. One that a kernel does not need can be left out: its
//! code is gone then, and its bytes are refused with an error that says so (`LeftOut`). With `defmt`, which is off, the public types
//! implement `defmt::Format`.
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
