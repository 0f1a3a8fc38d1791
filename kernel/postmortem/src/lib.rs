//! What happens when a kernel dies, for any kernel.
#![cfg_attr(not(test), no_std)]

mod first_failure;
mod last_words;
mod watchdog;

pub use first_failure::FirstFailure;
pub use last_words::{LastWords, Region};
pub use watchdog::{SECONDS, Ticks, Watchdog};
