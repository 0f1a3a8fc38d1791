//! Driver of a PL011 serial port.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use arm_pl011_uart::{
    DataBits, LineConfig, PL011Registers, Parity, StopBits, Uart, UniqueMmioPointer,
};

use super::port::{BAUD, Port};
use crate::arch::mmu::HIGH;

/// Whether it is set up; the first use does that.
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
    // SAFETY: the board has the device at this address, which is always mapped as device memory. Concurrent users, a report and
    // the code that it interrupted, only mix up their text.
    let mut uart = Uart::new(unsafe { UniqueMmioPointer::new(registers) });
    if !IS_SET_UP.swap(true, Ordering::Relaxed) {
        let line = LineConfig {
            data_bits: DataBits::Bits8,
            parity: Parity::None,
            stop_bits: StopBits::One,
        };
        // Fails only for baud rates that no divisor of the clock gives.
        let _ = uart.enable(line, BAUD, port.clock);
    }
    Some(uart)
}
