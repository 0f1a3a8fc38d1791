//! Physical memory as the boot loader left it: where it put the command line.

/// Where so many bytes of RAM from a physical address on are mapped, as a virtual address; none if they are not.
pub type Translate = fn(start: u64, length: u64) -> Option<u64>;

/// The right to read RAM by physical address, as long as it is mapped so. The kernel gives it back when it takes the boot
/// tables away.
///
/// The fence around such reads: nothing outside the mapped RAM is touched.
#[derive(Debug)]
pub struct BootMemory(Translate);

impl BootMemory {
    /// The one and only.
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
    /// Nothing that is still needed lies there, in RAM.
    pub unsafe fn write(&mut self, physical: u64, bytes: &[u8]) {
        if let Some(to) = (self.0)(physical, bytes.len() as u64) {
            let to = to as *mut u8;
            // SAFETY: mapped, see `new`; not in use, see above; and not in the image, where `bytes` lie.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    }

    /// Bytes at a physical address; none where memory is not mapped.
    #[must_use]
    pub fn bytes(&self, physical: u64, length: u64) -> Option<&[u8]> {
        let start = (self.0)(physical, length)? as *const u8;
        // SAFETY: mapped, see `new`. The caller reads what the boot loader wrote, which nothing else in the kernel
        // refers to.
        Some(unsafe { core::slice::from_raw_parts(start, length as usize) })
    }
}
