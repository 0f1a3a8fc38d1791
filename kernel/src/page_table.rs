//! Page tables, in the layout that both architectures share, and a mapping of the kernel's image that gives each page only the
//! rights that its section needs.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use unwind::Range as Addresses;

use crate::image::{self, Access};

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Bytes that one last-level table maps.
const SPAN: u64 = 512 * PAGE;

/// A table. Its words are atomic because the CPU reads them, and sets bits in them, at any time.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Table([AtomicU64; 512]);

impl Table {
    /// A table that maps nothing.
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 512])
    }

    /// Writes the entry with this index, 0 to 511.
    pub fn set(&self, index: usize, entry: u64) {
        self.0[index].store(entry, Ordering::Relaxed);
    }

    /// The table's own virtual address.
    pub fn address(&self) -> u64 {
        core::ptr::from_ref(self) as u64
    }
}

/// Maps the kernel's image in last-level tables, which cover consecutive ranges from the virtual address `base` on. `entry`
/// makes the entry for a page. Pages of `guards` stay unmapped.
///
/// # Panics
/// The image does not fit; the linker script checks that it does.
pub fn map_image(
    tables: &[Table],
    base: u64,
    guards: impl Iterator<Item = Addresses>,
    entry: impl Fn(u64, Access) -> u64,
) {
    for (Range { start, end }, access) in image::sections() {
        for page in (start..end).step_by(PAGE as usize) {
            set(tables, page - base, entry(page, access));
        }
    }
    for guard in guards {
        for page in (guard.start..guard.end).step_by(PAGE as usize) {
            set(tables, page - base, 0);
        }
    }
}

/// Unmaps a page that [`map_image`] has mapped. The caller has to invalidate the TLB.
pub fn unmap(tables: &[Table], base: u64, page: u64) {
    set(tables, page - base, 0);
}

fn set(tables: &[Table], offset: u64, entry: u64) {
    tables[(offset / SPAN) as usize].set((offset % SPAN / PAGE) as usize, entry);
}
