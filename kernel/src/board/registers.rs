//! Registers of a board's devices.

use crate::arch::mmu::HIGH;

/// A block of 32-bit registers at a physical address.
///
/// The fence around them: made only from the addresses of a board's devices, which are mapped for good, as device memory,
/// by the boot tables and by those that replace them.
#[derive(Clone, Copy, Debug)]
pub struct Registers(u64);

impl Registers {
    /// Those of the device at this physical address.
    ///
    /// # Safety
    /// There is a device, in the gigabytes that [`mmu`](crate::arch::mmu) maps for devices. What is written to it moves no
    /// memory.
    pub const unsafe fn new(address: u64) -> Self {
        Self(address)
    }

    /// Reads the register at this offset in bytes.
    pub fn read(self, offset: u64) -> u32 {
        // SAFETY: see `new`.
        unsafe { ((self.0 + HIGH + offset) as *const u32).read_volatile() }
    }

    /// Writes the register at this offset in bytes.
    pub fn write(self, offset: u64, value: u32) {
        // SAFETY: see `new`.
        unsafe { ((self.0 + HIGH + offset) as *mut u32).write_volatile(value) }
    }
}
