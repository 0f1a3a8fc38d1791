//! Registers of a board's devices.

use crate::arch::mmu::HIGH;

/// A block of 32-bit registers at a physical address.
///
/// Invariant: the address is that of a board's device, which is mapped as device memory, by the boot tables and by those that
/// replace them.
#[derive(Clone, Copy, Debug)]
pub struct Registers(u64);

impl Registers {
    /// The registers of the device at this physical address.
    ///
    /// # Safety
    /// There is a device, in the gigabytes that [`mmu`](crate::arch::mmu) maps for devices, and writes to it cause no access to
    /// RAM.
    pub const unsafe fn new(address: u64) -> Self {
        Self(address)
    }

    /// Reads the register at this offset in bytes.
    pub fn read(self, offset: u64) -> u32 {
        // SAFETY: a mapped device register, as the caller of `new` has said.
        unsafe { ((self.0 + HIGH + offset) as *const u32).read_volatile() }
    }

    /// Writes the register at this offset in bytes.
    pub fn write(self, offset: u64, value: u32) {
        // SAFETY: a mapped device register, as the caller of `new` has said.
        unsafe { ((self.0 + HIGH + offset) as *mut u32).write_volatile(value) }
    }
}
