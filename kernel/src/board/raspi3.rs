//! Raspberry Pi 3, all models: BCM2837, four Cortex-A53.

use portable::device_tree::Uart;

use super::arm::Board;
use super::port::Port;
use super::raspi::SPIN_TABLE;
use crate::arch::interrupts::Local;

const PERIPHERALS: u64 = 0x3f00_0000;

/// The board Raspberry Pi 3.
pub static RASPI3: Board = Board {
    name: "raspi3",
    compatible: "brcm,bcm2837",
    pl011: Port {
        uart: Uart::Pl011,
        address: PERIPHERALS + 0x20_1000,
        // `init_uart_clock` of config.txt.
        clock: 48_000_000,
    },
    mini_uart: Some(Port {
        uart: Uart::Mini,
        address: PERIPHERALS + 0x21_5040,
        // The core clock, which `enable_uart=1` keeps constant.
        clock: 250_000_000,
    }),
    gic: None,
    local: Some(Local(0x4000_0000)),
    spin_table: Some(SPIN_TABLE),
    button: None,
    fw_cfg: None,
    peripherals: Some(PERIPHERALS),
};
