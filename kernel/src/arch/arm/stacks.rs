//! The stacks that exceptions run on: [`EXCEPTION`] is that of supervisor mode. Everything else runs in system mode.

use postmortem::arm::Scratch;

pub use crate::arch::arms::stacks::{COUNT, EXCEPTION, OVERFLOW, get, overflow};
use crate::percpu::MAX_CPUS;

/// What trap code keeps before it knows where there is room, by CPU.
pub static SCRATCH: [Scratch; MAX_CPUS] = [const { Scratch::new() }; MAX_CPUS];
