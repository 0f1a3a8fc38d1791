//! What all Raspberry Pis have: pins, the watchdog as reset, and where the cores wait. Manual: "BCM2837 ARM Peripherals", of which "BCM2711
//! ARM Peripherals" keeps these parts.

use portable::device_tree::{Start, Uart};
use screen::Framebuffer;

use super::arms::Board;
use super::mailbox;
use super::port::Port;
use super::registers::Registers;
use crate::arch::Local;
use crate::arch::interrupts::{Controller, Gic};
use crate::arch::start::{SPIN_TABLE, SpinTable};

/// A Raspberry Pi.
#[derive(Debug)]
pub struct Raspi {
    /// Its name.
    pub name: &'static str,
    /// As its device tree calls it.
    pub compatible: &'static str,
    /// The physical address of the devices.
    pub peripherals: u64,
    /// The core clock, which `enable_uart=1` keeps constant.
    pub core_clock: u32,
    /// The GIC, where there is one.
    pub gic: Option<Gic>,
    /// The interrupt controller of the cores.
    pub local: Local,
}

/// Where the cores wait. The firmware's code for that is in the first page of RAM (`armstub8.S` of raspberrypi/tools), and device
/// trees have the same addresses.
const WHERE_CORES_WAIT: SpinTable = SpinTable {
    address: 0xd8,
    cpus: 4,
};

/// Offsets in bytes from the start of the peripherals: the serial ports.
const PL011: u64 = 0x20_1000;
const MINI_UART: u64 = 0x21_5040;

/// Of a GIC's distributor: its type, by offset in bytes, and in it, that it has two security states, as the CPUs have ("ARM Generic Interrupt
/// Controller, Architecture version 2.0", 4.3.2 "GICD_TYPER").
const GIC_TYPE: u64 = 4;
const HAS_SECURE_STATE: u32 = 1 << 10;

impl Board for Raspi {
    fn name(&self) -> &'static str {
        self.name
    }

    fn compatible(&self) -> &'static str {
        self.compatible
    }

    fn pl011(&self) -> Port {
        Port {
            uart: Uart::Pl011,
            address: self.peripherals + PL011,
            // `init_uart_clock` of config.txt.
            clock: 48_000_000,
        }
    }

    fn mini_uart(&self) -> Option<Port> {
        Some(Port {
            uart: Uart::Mini,
            address: self.peripherals + MINI_UART,
            clock: self.core_clock,
        })
    }

    /// The GIC, unless its group 0, which the kernel needs for NMIs, belongs to secure firmware.
    fn controller(&self) -> &dyn Controller {
        let is_free = |gic: &&Gic| gic.distributor().read(GIC_TYPE) & HAS_SECURE_STATE == 0;
        if let Some(gic) = self.gic.as_ref().filter(is_free) {
            return gic;
        }
        // So that the page tables will map them.
        self.local.registers();
        &self.local
    }

    fn connect(&self, port: Port) {
        connect(self.peripherals, port);
    }

    /// There is a screen even where nobody can look at it, so it is used only if somebody wants it.
    fn framebuffer(&self, is_wanted: bool) -> Option<Framebuffer> {
        match is_wanted {
            true => mailbox::framebuffer(self.peripherals),
            false => None,
        }
    }

    fn reset(&self) {
        reset(self.peripherals);
    }

    fn can_start(&self, id: u64, start: Start) -> bool {
        match start {
            Start::Firmware => true,
            // To write to another address than the board's could destroy anything.
            Start::SpinTable(address) => {
                let is_its = WHERE_CORES_WAIT.release(id) == Some(address);
                if is_its {
                    SPIN_TABLE.call_once(|| WHERE_CORES_WAIT);
                }
                is_its
            }
        }
    }
}

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
/// The watchdog's time, in units of 1/65536 second: a tenth of a second, in which a serial port sends the last bytes that it has taken.
const SOON: u32 = 6554;

/// Connects the pins to a serial port.
fn connect(peripherals: u64, port: Port) {
    let function = match port.uart {
        Uart::Pl011 => PL011_ON_PINS,
        Uart::Mini => MINI_UART_ON_PINS,
    };
    // SAFETY: every Raspberry Pi has this device, which does no DMA.
    let gpio = unsafe { Registers::new(peripherals + GPIO) };
    let others = gpio.read(FUNCTION_SELECT_1) & !(0o77 << 12);
    gpio.write(FUNCTION_SELECT_1, others | function << 12 | function << 15);
}

/// Makes the watchdog reset the board in a tenth of a second.
fn reset(peripherals: u64) {
    // SAFETY: every Raspberry Pi has this device, which does no DMA.
    let power = unsafe { Registers::new(peripherals + POWER) };
    power.write(WATCHDOG, PASSWORD | SOON);
    let control = power.read(RESET_CONTROL) & !WHEN_WATCHDOG_ENDS;
    power.write(RESET_CONTROL, PASSWORD | control & 0xff_ffff | FULL_RESET);
}
