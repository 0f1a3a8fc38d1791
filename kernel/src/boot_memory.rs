//! Physical memory as the boot loader left it: where it put the command line.

use crate::arch::mmu::boot_address;

/// The right to read RAM by physical address, as long as the boot tables map it. Given back to
/// [`protect`](crate::arch::mmu::protect), which takes those tables away.
///
/// The fence around such reads: nothing outside the mapped RAM is touched.
#[derive(Debug)]
pub struct BootMemory(());

impl BootMemory {
    /// The one and only.
    ///
    /// # Safety
    /// The boot tables are in force, and stay so as long as this value lives.
    pub const unsafe fn new() -> Self {
        Self(())
    }

    /// Writes to a physical address.
    ///
    /// # Safety
    /// Nothing that is still needed lies there, in RAM.
    #[cfg(target_arch = "x86_64")]
    pub unsafe fn write(&mut self, physical: u64, bytes: &[u8]) {
        if let Some(to) = boot_address(physical, bytes.len() as u64) {
            let to = to as *mut u8;
            // SAFETY: mapped, see `new`; not in use, see above; and not in the image, where `bytes` lie.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    /// Bytes at a physical address.
    pub fn bytes(&self, physical: u64, length: u64) -> Option<&[u8]> {
        let start = boot_address(physical, length)? as *const u8;
        // SAFETY: mapped, see `new`. The caller reads what the boot loader wrote, which nothing else in the kernel
        // refers to.
        Some(unsafe { core::slice::from_raw_parts(start, length as usize) })
    }
}
