//! The generic timer of each CPU. Manual: D11 "The Generic Timer in AArch64 state".

use aarch64_cpu::registers::{CNTFRQ_EL0, CNTP_CTL_EL0, CNTP_TVAL_EL0, Readable, Writeable};

use super::interrupts;

/// Starts this CPU's timer, with so many interrupts a second.
pub fn start(ticks_per_second: u64) {
    rearm(ticks_per_second);
    CNTP_CTL_EL0.write(CNTP_CTL_EL0::ENABLE::SET);
    interrupts::enable(interrupts::TIMER);
}

/// Sets the timer to the next tick, which also ends the interrupt of this one.
pub fn rearm(ticks_per_second: u64) {
    CNTP_TVAL_EL0.set(CNTFRQ_EL0.get() / ticks_per_second);
}
