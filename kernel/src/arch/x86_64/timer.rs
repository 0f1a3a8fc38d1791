//! The timer of the local APIC. Manual: volume 3, 12.5.4 "APIC Timer".
//!
//! No register that all CPUs have tells its frequency, so it is measured with the PC's programmable interval timer (PIT, 8254).

use spin::Once;
use x86_64::instructions::port::Port;

use super::interrupts::{MASKED, Register, TIMER, read, write};

/// In the timer's entry of the local vector table: periodic.
const PERIODIC: u32 = 1 << 17;
/// In the divide configuration register: divides the frequency by 16.
const BY_16: u32 = 3;

/// The PIT's frequency, in Hz.
const PIT_HZ: u64 = 1_193_182;
/// I/O ports of the PIT's counter 2, and of all counters' modes (8254, "Control Word Format").
const COUNTER: u16 = 0x42;
const MODE: u16 = 0x43;
/// Counter 2, both bytes, mode 0: the output rises when the count is over.
const ONE_SHOT: u8 = 0xb0;
/// I/O port with counter 2's gate (bit 0), the speaker (bit 1) and the counter's output (bit 5).
const GATE: u16 = 0x61;
const OUTPUT: u8 = 1 << 5;

/// Polls after which the PIT is taken not to count: far more than a tick takes.
const MAX_POLLS: u32 = 1_000_000;

/// Timer counts in a tick. The same for all CPUs.
static COUNTS: Once<u32> = Once::new();

/// Starts this CPU's timer, with so many interrupts a second.
pub fn start(ticks_per_second: u64) {
    // SAFETY: sets the divider and masks the timer, so that no interrupt comes.
    unsafe {
        write(Register::TimerDivide, BY_16);
        write(Register::Timer, MASKED | TIMER);
    }
    let counts = *COUNTS.call_once(|| measure(ticks_per_second));
    // SAFETY: the timer's interrupts have an entry in the IDT and a handler.
    unsafe {
        write(Register::Timer, PERIODIC | TIMER);
        write(Register::TimerInitialCount, counts);
    }
}

/// Does nothing: the timer is periodic.
pub fn rearm(_: u64) {}

/// Measures how many counts a tick has. Where the PIT does not count, assumes a bus clock of 1 GHz.
fn measure(ticks_per_second: u64) -> u32 {
    let mut gate = Port::<u8>::new(GATE);
    let mut counter = Port::<u8>::new(COUNTER);
    let [low, high, ..] = (PIT_HZ / ticks_per_second).to_le_bytes();
    // SAFETY: on a PC these ports belong to the PIT, whose counter 2 nothing else uses. The APIC timer is masked, so that no
    // interrupt comes.
    let output = unsafe {
        let closed = gate.read() & !3;
        gate.write(closed);
        Port::new(MODE).write(ONE_SHOT);
        counter.write(low);
        counter.write(high);
        write(Register::TimerInitialCount, u32::MAX);
        gate.write(closed | 1);
        (0..MAX_POLLS).any(|_| gate.read() & OUTPUT != 0)
    };
    let counts = u32::MAX - read(Register::TimerCurrentCount);
    if output {
        counts.max(1)
    } else {
        (1_000_000_000 / 16 / ticks_per_second) as u32
    }
}
