//! The oracle for ARMv7-A: one CPU. What the other architectures have of it and more is in the folder above; this has registers of
//! 32 bits, and two instruction sets.
//!
//! Walks go by the rule map, whose rows hold at each instruction, and by the exception tables, which hold at calls. Where only these are, a
//! walk that begins there is in doubt, and where that is excused says `excuses.rs`.

mod decode;
mod follow;
mod image;
mod machine;
mod shadow;

pub use follow::{Plan, follow};
pub use image::Image;
