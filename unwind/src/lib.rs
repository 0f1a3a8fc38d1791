//! An SFrame unwinder for kernels.
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
mod bytes;
mod memory;
mod registers;
pub mod report;
pub mod s390x;
pub mod sframe;
pub mod symbols;
mod text;
mod walk;
pub mod x86_64;

pub use bytes::ByteOrder;
pub use memory::{MAX_STACKS, Memory, Range, Stacks};
pub use registers::Registers;
pub use walk::{Doubt, End, Fallbacks, Frame, FrameKind, Frames, How};
