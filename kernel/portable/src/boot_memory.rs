//! Physical memory as the boot loader left it, with the command line and firmware's tables.

use core::ops::Range;

/// A function that returns the virtual address of `length` bytes at the physical address `start`, if they are mapped.
pub type Translate = fn(start: u64, length: u64) -> Option<u64>;

/// The right to read memory by physical address while the boot tables map it. The kernel gives it up when it replaces the tables.
///
/// All such reads use this type. They access only memory, because a read of a device may have effects.
#[derive(Debug)]
pub struct BootMemory {
    translate: Translate,
    map: Option<Map>,
}

/// The most ranges of a [`Map`].
const MAX_RANGES: usize = 32;

/// A map of memory: the ranges that are memory, and which of them are RAM that is not in use.
#[derive(Debug, Default)]
pub struct Map {
    ranges: [(Range<u64>, bool); MAX_RANGES],
    count: usize,
}

impl Map {
    /// Creates an empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a range. A range beyond the limit of a map is left out.
    pub fn add(&mut self, range: Range<u64>, is_ram: bool) {
        if let Some(slot) = self.ranges.get_mut(self.count) {
            *slot = (range, is_ram);
            self.count += 1;
        }
    }

    /// Returns whether the `length` bytes at `start` are in one range of the map.
    #[must_use]
    pub fn holds(&self, start: u64, length: u64) -> bool {
        self.has(start, length, |_| true)
    }

    /// Returns whether the `length` bytes at `start` are in one range that is RAM.
    #[must_use]
    pub fn is_ram(&self, start: u64, length: u64) -> bool {
        self.has(start, length, |is_ram| is_ram)
    }

    fn has(&self, start: u64, length: u64, is_wanted: fn(bool) -> bool) -> bool {
        let Some(end) = start.checked_add(length) else {
            return false;
        };
        let mut ranges = self.ranges.iter().take(self.count);
        ranges.any(|(range, is_ram)| is_wanted(*is_ram) && range.start <= start && end <= range.end)
    }
}

impl BootMemory {
    /// Creates the only value of this type.
    ///
    /// # Safety
    /// The caller must guarantee that all ranges for which `translate` returns an address stay mapped as long as this value lives, and that
    /// reads access only memory, and writes only RAM. Either `translate` returns only such ranges, or the caller [limits](Self::limit) this
    /// value to a map of them, and before that reads only addresses that are memory.
    #[must_use]
    pub const unsafe fn new(translate: Translate) -> Self {
        Self {
            translate,
            map: None,
        }
    }

    /// Limits all later accesses to the memory of this map.
    pub fn limit(&mut self, map: Map) {
        self.map = Some(map);
    }

    /// Writes to a physical address. Returns whether the address is RAM.
    ///
    /// # Safety
    /// The caller must guarantee that no data in use is at this address.
    pub unsafe fn write(&mut self, physical: u64, bytes: &[u8]) -> bool {
        let length = bytes.len() as u64;
        let is_ram = |map: &Map| map.is_ram(physical, length);
        let Some(to) = (self.translate)(physical, length) else {
            return false;
        };
        if !self.map.as_ref().is_none_or(is_ram) {
            return false;
        }
        let to = to as *mut u8;
        // SAFETY: mapped RAM, which the caller of `new` guarantees; unused, which this caller guarantees, and so not overlapping `bytes`.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        true
    }

    /// Returns the bytes at a physical address; `None` if they are not mapped memory.
    #[must_use]
    pub fn bytes(&self, physical: u64, length: u64) -> Option<&[u8]> {
        let holds = |map: &Map| map.holds(physical, length);
        if !self.map.as_ref().is_none_or(holds) {
            return None;
        }
        let start = (self.translate)(physical, length)? as *const u8;
        // SAFETY: mapped memory while `self` lives: the caller of `new` guarantees it. The kernel has no references to what the boot loader
        // wrote, so nothing changes it.
        Some(unsafe { core::slice::from_raw_parts(start, length as usize) })
    }
}
