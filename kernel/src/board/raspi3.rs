//! Raspberry Pi 3, all models: BCM2837, four Cortex-A53.

use super::raspi::Raspi;
use crate::arch::Local;

/// The board Raspberry Pi 3.
pub static RASPI3: Raspi = Raspi {
    name: "raspi3",
    compatible: "brcm,bcm2837",
    peripherals: 0x3f00_0000,
    core_clock: 250_000_000,
    gic: None,
    local: Local(0x4000_0000),
};
