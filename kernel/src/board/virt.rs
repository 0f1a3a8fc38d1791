//! QEMU's `virt` machine.

use portable::device_tree::Uart;

use super::arm::Board;
use super::button::Button;
use super::port::Port;
use crate::arch::interrupts::Gic;

/// The board QEMU's `virt`.
pub static VIRT: Board = Board {
    name: "virt",
    compatible: "linux,dummy-virt",
    pl011: Port {
        uart: Uart::Pl011,
        address: 0x0900_0000,
        // QEMU ignores the clock.
        clock: 24_000_000,
    },
    mini_uart: None,
    gic: Some(Gic {
        distributor: 0x0800_0000,
        interface: 0x0801_0000,
        redistributors: 0x080a_0000,
    }),
    local: None,
    spin_table: None,
    // SPI 7 is that of the GPIO controller, whose only use is the button.
    button: Some(Button {
        interrupt: 39,
        gpio: 0x0903_0000,
    }),
    fw_cfg: Some(0x0902_0000),
    peripherals: None,
};
