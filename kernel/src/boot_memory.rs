//! Physical memory as the boot loader left it: where it put the command line.

use crate::arch::mmu::{BOOT_RAM, HIGH};

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
        if self.bytes(physical, bytes.len() as u64).is_some() {
            let to = (physical + HIGH) as *mut u8;
            // SAFETY: mapped, see `new`; not in use, see above; and not in the image, where `bytes` lie.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    /// Bytes at a physical address.
    pub fn bytes(&self, physical: u64, length: u64) -> Option<&[u8]> {
        let end = physical.checked_add(length)?;
        if !BOOT_RAM.contains(&physical) || end > BOOT_RAM.end {
            return None;
        }
        let start = (physical + HIGH) as *const u8;
        // SAFETY: mapped, see `new`. The caller reads what the boot loader wrote, which nothing else in the kernel
        // refers to.
        Some(unsafe { core::slice::from_raw_parts(start, length as usize) })
    }
}
