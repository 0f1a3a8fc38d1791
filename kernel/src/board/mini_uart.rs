//! Driver of a Raspberry Pi's mini UART. Manual: "BCM2837 ARM Peripherals", 2.2 "Mini UART". Only whole board-support crates
//! have one.

use core::sync::atomic::{AtomicBool, Ordering};

use super::port::{BAUD, Port};
use super::registers::Registers;

/// Registers by offset in bytes from AUX_MU_IO_REG; AUX_ENABLES is before it.
const DATA: u64 = 0;
const INTERRUPT_ENABLE: u64 = 4;
const FIFO: u64 = 8;
const LINE: u64 = 0xc;
const STATUS: u64 = 0x14;
const CONTROL: u64 = 0x20;
const DIVIDER: u64 = 0x28;
const AUX_ENABLES_BEFORE: u64 = 0x3c;

const ENABLE_MINI_UART: u32 = 1;
const CLEAR_FIFOS: u32 = 6;
/// Both bits have to be set, as the manual's errata say.
const EIGHT_BITS: u32 = 3;
const HAS_RECEIVED: u32 = 1;
const CAN_TAKE: u32 = 1 << 5;
const RECEIVE_AND_SEND: u32 = 3;

/// Whether it is set up; the first use does that.
static IS_SET_UP: AtomicBool = AtomicBool::new(false);

/// Sends a byte, if the device takes one.
pub fn try_send(port: Port, byte: u8) -> bool {
    let uart = uart(port);
    let has_room = uart.read(STATUS) & CAN_TAKE != 0;
    if has_room {
        uart.write(DATA, u32::from(byte));
    }
    has_room
}

/// The next byte, if there is one.
pub fn try_receive(port: Port) -> Option<u8> {
    let uart = uart(port);
    (uart.read(STATUS) & HAS_RECEIVED != 0).then(|| uart.read(DATA) as u8)
}

fn uart(port: Port) -> Registers {
    // SAFETY: the board has the device at this address. Concurrent users only mix up their text.
    let uart = unsafe { Registers::new(port.address) };
    if !IS_SET_UP.swap(true, Ordering::Relaxed) {
        // SAFETY: a register of the same device.
        let aux = unsafe { Registers::new(port.address - AUX_ENABLES_BEFORE) };
        // The register is shared with two SPI controllers, whose bits stay unchanged.
        aux.write(0, aux.read(0) | ENABLE_MINI_UART);
        uart.write(CONTROL, 0);
        uart.write(INTERRUPT_ENABLE, 0);
        uart.write(LINE, EIGHT_BITS);
        uart.write(FIFO, CLEAR_FIFOS);
        // The device takes eight clocks a bit.
        uart.write(DIVIDER, (port.clock / (8 * BAUD)).saturating_sub(1));
        uart.write(CONTROL, RECEIVE_AND_SEND);
    }
    uart
}
