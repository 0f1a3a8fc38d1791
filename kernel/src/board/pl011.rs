//! A serial port that is a PL011.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use arm_pl011_uart::{
    DataBits, LineConfig, PL011Registers, Parity, StopBits, Uart, UniqueMmioPointer,
};

use super::port::{BAUD, Port};
use crate::arch::mmu::HIGH;

/// Whether somebody has set it up: whoever uses it first does.
static IS_SET_UP: AtomicBool = AtomicBool::new(false);

/// Sends a byte, if the device takes one.
pub fn try_send(port: Port, byte: u8) -> bool {
    let Some(mut uart) = uart(port) else {
        return true;
    };
    let has_room = !uart.is_tx_fifo_full();
    if has_room {
        uart.write_word(byte);
    }
    has_room
}

/// The next byte, if there is one.
pub fn try_receive(port: Port) -> Option<u8> {
    uart(port)?.read_word().ok()?
}

fn uart(port: Port) -> Option<Uart<'static>> {
    let registers = NonNull::new((port.address + HIGH) as *mut PL011Registers)?;
    // SAFETY: the board's, mapped as device memory, by the boot tables and by those that replace them. Two users at once, a
    // report and whoever it interrupted, mix up their text and do no other harm.
    let mut uart = Uart::new(unsafe { UniqueMmioPointer::new(registers) });
    if !IS_SET_UP.swap(true, Ordering::Relaxed) {
        let line = LineConfig {
            data_bits: DataBits::Bits8,
            parity: Parity::None,
            stop_bits: StopBits::One,
        };
        // Fails only for baud rates that the clock cannot be divided to.
        let _ = uart.enable(line, BAUD, port.clock);
    }
    Some(uart)
}
