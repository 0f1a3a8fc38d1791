//! The boards of 64 bits.

use aarch64_cpu::registers::{MIDR_EL1, Readable};

use super::arms::Board;
use super::raspi3::RASPI3;
use super::raspi4::RASPI4;
use super::raspi5::Raspi5;
use super::virt::Virt;
use crate::arch::mmu::image_offset;

/// All of them.
pub static BOARDS: [&dyn Board; 4] = [&Virt, &RASPI3, &RASPI4, &Raspi5];

/// Guesses the board from the load address and the CPU: an image at its link address is on `virt`, which may have any CPU.
pub fn by_cpu() -> &'static dyn Board {
    /// MIDR_EL1, PartNum.
    const CORTEX_A53: u64 = 0xd03;
    const CORTEX_A76: u64 = 0xd0b;
    match (image_offset(), MIDR_EL1.read(MIDR_EL1::PartNum)) {
        (0, _) => &Virt,
        (_, CORTEX_A53) => &RASPI3,
        (_, CORTEX_A76) => &Raspi5,
        _ => &RASPI4,
    }
}
