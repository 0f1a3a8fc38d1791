//! The generic timer of each CPU. Manual: B8 "The Generic Timer".

use aarch32_cpu::generic_timer::{El1PhysicalTimer, GenericTimer as _};

use super::interrupts;

/// This CPU's timer.
fn timer() -> El1PhysicalTimer {
    // SAFETY: the kernel writes its registers only with interrupts masked, each in one instruction.
    unsafe { El1PhysicalTimer::new() }
}

/// Starts this CPU's timer, with so many interrupts a second.
pub fn start(ticks_per_second: u64) {
    rearm(ticks_per_second);
    timer().enable(true);
    interrupts::enable(interrupts::TIMER);
}

/// Sets the timer to the next tick, which also ends the interrupt of this one.
pub fn rearm(ticks_per_second: u64) {
    timer().countdown_set((frequency() / ticks_per_second) as u32);
}

/// The value of the system counter, in ticks.
pub fn ticks() -> u64 {
    timer().counter()
}

/// The frequency of the system counter in Hz, as set by firmware.
pub fn frequency() -> u64 {
    timer().frequency_hz().into()
}
