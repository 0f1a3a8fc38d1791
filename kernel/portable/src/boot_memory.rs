//! Physical memory as the boot loader left it, with the command line and firmware's tables.

/// A function that returns the virtual address of `length` bytes of RAM at the physical address `start`, if they are mapped.
pub type Translate = fn(start: u64, length: u64) -> Option<u64>;

/// The right to read RAM by physical address, while the boot tables map it. The kernel gives it up when it replaces them.
///
/// All such reads go through here: nothing outside the mapped RAM is accessed.
#[derive(Debug)]
pub struct BootMemory(Translate);

impl BootMemory {
    /// The only value of this type.
    ///
    /// # Safety
    /// What `translate` says is mapped is RAM, and stays mapped as long as this value lives.
    #[must_use]
    pub const unsafe fn new(translate: Translate) -> Self {
        Self(translate)
    }

    /// Writes to a physical address.
    ///
    /// # Safety
    /// Nothing that is still needed is at this address.
    pub unsafe fn write(&mut self, physical: u64, bytes: &[u8]) {
        if let Some(to) = (self.0)(physical, bytes.len() as u64) {
            let to = to as *mut u8;
            // SAFETY: mapped RAM, as the caller of `new` says; not in use, as this caller says, and so not overlapping `bytes`.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    /// Bytes at a physical address; none where memory is not mapped.
    #[must_use]
    pub fn bytes(&self, physical: u64, length: u64) -> Option<&[u8]> {
        let start = (self.0)(physical, length)? as *const u8;
        // SAFETY: mapped RAM, as the caller of `new` says, while `self` lives. The kernel has no references to what the boot
        // loader wrote, so nothing changes it.
        Some(unsafe { core::slice::from_raw_parts(start, length as usize) })
    }
}
