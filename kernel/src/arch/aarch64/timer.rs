//! The generic timer of each processor. Manual: D11 "The Generic Timer in AArch64 state".

use aarch64_cpu::registers::{CNTFRQ_EL0, CNTP_CTL_EL0, CNTP_TVAL_EL0, Readable, Writeable};

use super::interrupts;
use crate::timer::TICKS_PER_SECOND;

/// Lets an interrupt come at every tick.
pub fn start() {
    again();
    CNTP_CTL_EL0.write(CNTP_CTL_EL0::ENABLE::SET);
    interrupts::enable(interrupts::TIMER);
}

/// Lets the next tick come, and takes the interrupt of this one back.
pub fn again() {
    CNTP_TVAL_EL0.set(CNTFRQ_EL0.get() / TICKS_PER_SECOND);
}
