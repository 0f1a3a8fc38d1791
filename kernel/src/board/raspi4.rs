//! Raspberry Pi 4, 400 and Compute Module 4: BCM2711, four Cortex-A72.

use super::raspi::Raspi;
use crate::arch::Local;
use crate::arch::interrupts::Gic;

/// The board Raspberry Pi 4.
pub static RASPI4: Raspi = Raspi {
    name: "raspi4",
    compatible: "brcm,bcm2711",
    peripherals: 0xfe00_0000,
    core_clock: 500_000_000,
    // On the board its group 0, which the kernel needs for NMIs, belongs to the secure firmware; in QEMU it does not.
    gic: Some(Gic {
        distributor: 0xff84_1000,
        interface: 0xff84_2000,
        redistributors: 0,
    }),
    // The cores get their interrupts from here if config.txt says `enable_gic=0`. QEMU has the registers, but no interrupts from them.
    local: Local(0xff80_0000),
};
