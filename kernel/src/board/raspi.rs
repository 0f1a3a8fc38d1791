//! What all Raspberry Pis have: pins, the watchdog as reset, and where the cores wait. Manual: "BCM2837 ARM Peripherals", of which "BCM2711
//! ARM Peripherals" keeps these parts.

use portable::device_tree::Uart;

use super::port::Port;
use super::registers::Registers;
use crate::arch::start::SpinTable;

/// Where the cores wait. The firmware's code for that is in the first page of RAM (`armstub8.S` of raspberrypi/tools), and device
/// trees have the same addresses.
pub const SPIN_TABLE: SpinTable = SpinTable {
    address: 0xd8,
    cpus: 4,
};

/// Offsets in bytes from the start of the peripherals: GPIO, power management.
const GPIO: u64 = 0x20_0000;
const POWER: u64 = 0x10_0000;

/// The register with the functions of the pins 10 to 19, three bits each (6.1 "Register View").
const FUNCTION_SELECT_1: u64 = 4;
/// Functions of the pins 14 and 15, for the serial port: TXD0 and RXD0, or TXD1 and RXD1 (6.2 "Alternative Function
/// Assignments").
const PL011_ON_PINS: u32 = 4;
const MINI_UART_ON_PINS: u32 = 2;

/// Registers of the watchdog, and the password that every write needs. The manual leaves them out; Linux has them in
/// `drivers/watchdog/bcm2835_wdt.c`.
const RESET_CONTROL: u64 = 0x1c;
const WATCHDOG: u64 = 0x24;
const PASSWORD: u32 = 0x5a00_0000;
const WHEN_WATCHDOG_ENDS: u32 = 0x30;
const FULL_RESET: u32 = 0x20;
/// The watchdog's time, in units of 1/65536 second.
const SOON: u32 = 10;

/// Connects the pins to a serial port.
pub fn connect(peripherals: u64, port: Port) {
    let function = match port.uart {
        Uart::Pl011 => PL011_ON_PINS,
        Uart::Mini => MINI_UART_ON_PINS,
    };
    // SAFETY: every Raspberry Pi has this device, which does no DMA.
    let gpio = unsafe { Registers::new(peripherals + GPIO) };
    let others = gpio.read(FUNCTION_SELECT_1) & !(0o77 << 12);
    gpio.write(FUNCTION_SELECT_1, others | function << 12 | function << 15);
}

/// Makes the watchdog reset the board, in a fraction of a millisecond.
pub fn reset(peripherals: u64) {
    // SAFETY: every Raspberry Pi has this device, which does no DMA.
    let power = unsafe { Registers::new(peripherals + POWER) };
    power.write(WATCHDOG, PASSWORD | SOON);
    let control = power.read(RESET_CONTROL) & !WHEN_WATCHDOG_ENDS;
    power.write(RESET_CONTROL, PASSWORD | control & 0xff_ffff | FULL_RESET);
}
