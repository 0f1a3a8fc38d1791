//! Ending the run: QEMU's exit status, power off, reset.

use x86_64::instructions::port::Port;

use super::cpu;
use crate::verdict::Verdict;

/// The I/O port of QEMU's isa-debug-exit, as the runner sets it. Writing `value` ends QEMU with the status `2 * value + 1`.
const DEBUG_EXIT: u16 = 0xf4;

/// The reset control register of every chipset since Intel's PIIX ("Reset Control Register", 0xcf9): system reset (bit
/// 1), and the edge of bit 2 that starts it.
const RESET_CONTROL: u16 = 0xcf9;

/// Resets the machine. Where that register does not exist, stops the CPU.
pub fn reset() -> ! {
    let mut port = Port::new(RESET_CONTROL);
    for value in [0x02_u8, 0x06] {
        // SAFETY: a PC has nothing else at this port, and nothing of this program runs after a reset.
        unsafe { port.write(value) };
    }
    cpu::halt()
}

/// Ends QEMU with the verdict. Where there is no such device, stops the CPU.
pub fn leave(verdict: Verdict) -> ! {
    let mut port = Port::new(DEBUG_EXIT);
    // SAFETY: a PC has nothing else at this port.
    unsafe { port.write(u32::from(verdict.status() / 2)) };
    cpu::halt()
}
