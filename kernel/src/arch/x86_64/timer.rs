//! The timer of the local APIC. Manual: volume 3, 12.5.4 "APIC Timer".
//!
//! How fast it counts is written nowhere that all processors have, so it is measured by the timer of old PCs (8254).

use spin::Once;
use x86_64::instructions::port::Port;

use super::interrupts::{MASKED, Register, TIMER, read, write};

/// In the timer's entry of the local vector table: begins again by itself.
const PERIODIC: u32 = 1 << 17;
/// In the divide configuration register: counts every 16th beat.
const BY_16: u32 = 3;

/// The 8254's frequency, in Hz.
const OLD_TIMER_HZ: u64 = 1_193_182;
/// I/O ports of its third counter, and of all counters' modes (8254, "Control Word Format").
const COUNTER: u16 = 0x42;
const MODE: u16 = 0x43;
/// Third counter, both bytes, mode 0: the output rises at the end.
const ONE_SHOT: u8 = 0xb0;
/// I/O port with the third counter's gate (bit 0), the speaker (bit 1) and the counter's output (bit 5).
const GATE: u16 = 0x61;
const OUTPUT: u8 = 1 << 5;

/// Polls before the 8254 is taken not to count: far more than a tick takes.
const PATIENCE: u32 = 1_000_000;

/// Counts in a tick. All processors have the same.
static COUNTS: Once<u32> = Once::new();

/// Lets an interrupt come so many times a second.
pub fn start(ticks_per_second: u64) {
    // SAFETY: the vector has an entry.
    unsafe {
        write(Register::TimerDivide, BY_16);
        write(Register::Timer, MASKED | TIMER);
    }
    let counts = *COUNTS.call_once(|| measure(ticks_per_second));
    // SAFETY: as above.
    unsafe {
        write(Register::Timer, PERIODIC | TIMER);
        write(Register::TimerInitialCount, counts);
    }
}

/// Lets the next tick come: it does by itself.
pub fn again(_: u64) {}

/// How far the timer counts in a tick. Where the 8254 does not count, as many as there are at 1 GHz.
fn measure(ticks_per_second: u64) -> u32 {
    let mut gate = Port::<u8>::new(GATE);
    let mut counter = Port::<u8>::new(COUNTER);
    let [low, high, ..] = (OLD_TIMER_HZ / ticks_per_second).to_le_bytes();
    // SAFETY: on a PC nothing else is at these ports, and nobody else uses the third counter. The timer is masked.
    let output = unsafe {
        let closed = gate.read() & !3;
        gate.write(closed);
        Port::new(MODE).write(ONE_SHOT);
        counter.write(low);
        counter.write(high);
        write(Register::TimerInitialCount, u32::MAX);
        gate.write(closed | 1);
        (0..PATIENCE).any(|_| gate.read() & OUTPUT != 0)
    };
    let counts = u32::MAX - read(Register::TimerCurrentCount);
    if output {
        counts.max(1)
    } else {
        (1_000_000_000 / 16 / ticks_per_second) as u32
    }
}
