//! Raspberry Pi 4, 400 and Compute Module 4: BCM2711, four Cortex-A72.

use portable::device_tree::Uart;

use super::arm::Board;
use super::port::Port;
use super::raspi::SPIN_TABLE;
use crate::arch::interrupts::{Gic, Local};

const PERIPHERALS: u64 = 0xfe00_0000;

/// The board Raspberry Pi 4.
pub static RASPI4: Board = Board {
    name: "raspi4",
    compatible: "brcm,bcm2711",
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
        clock: 500_000_000,
    }),
    // On the board its group 0, which the kernel needs for NMIs, belongs to the secure firmware; in QEMU it does not.
    gic: Some(Gic {
        distributor: 0xff84_1000,
        interface: 0xff84_2000,
        redistributors: 0,
    }),
    // The cores get their interrupts from here if config.txt says `enable_gic=0`. QEMU has the registers, but no interrupts from them.
    local: Some(Local(0xff80_0000)),
    spin_table: Some(SPIN_TABLE),
    button: None,
    fw_cfg: None,
    peripherals: Some(PERIPHERALS),
};
