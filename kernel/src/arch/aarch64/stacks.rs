//! The stacks that exceptions run on: [`EXCEPTION`] is SP_EL1's. Everything else runs on SP_EL0.

pub use crate::arch::arms::stacks::{COUNT, EXCEPTION, OVERFLOW, get, overflow};

// The code in vectors.rs shifts an offset to find out whether it is in this array.
const _: () = assert!(size_of_val(&EXCEPTION).is_power_of_two());
