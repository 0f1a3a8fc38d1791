//! The translation of A32 and T32 instructions, from assembled code.

#[path = "arm/effects.rs"]
mod effects;
#[path = "arm/flows.rs"]
mod flows;
#[path = "arm/jumps.rs"]
mod jumps;
#[path = "arm/objdump.rs"]
mod objdump;
#[path = "arm/support.rs"]
mod support;
