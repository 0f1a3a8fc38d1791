//! An SFrame unwinder for kernels.
#![no_std]
#![forbid(unsafe_code)]

pub mod sframe;
pub mod symbols;
