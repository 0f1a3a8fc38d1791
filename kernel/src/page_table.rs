//! Page tables as both processors read them: 512 words, and a map of the kernel's image that gives each page no more
//! than its section needs.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use unwind::Range as Addresses;

use crate::image::{self, Access};

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Bytes that one table of pages maps.
const SPAN: u64 = 512 * PAGE;

/// A table. The words are atomic because the processor reads them, and sets bits in them, at any time.
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

/// Fills tables of pages, which map one after another from the virtual address `base` on, with the kernel's image.
/// `entry` makes the entry for a page. Pages of `guards` stay unmapped.
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

/// Takes a page of [`map_image`]'s out again; the processor must be told.
pub fn unmap(tables: &[Table], base: u64, page: u64) {
    set(tables, page - base, 0);
}

fn set(tables: &[Table], offset: u64, entry: u64) {
    tables[(offset / SPAN) as usize].set((offset % SPAN / PAGE) as usize, entry);
}
