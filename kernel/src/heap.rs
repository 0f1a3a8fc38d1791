//! The heap: a static region, allocated by a list of free blocks.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::fmt;
use core::ptr::{self, NonNull};

use linked_list_allocator::Heap;
use spin::Mutex;

/// Bytes of the heap.
const SIZE: usize = 1024 * 1024;

#[repr(C, align(4096))]
struct Region(UnsafeCell<[u8; SIZE]>);

// SAFETY: the bytes are accessed only by the allocator and its users, by blocks that do not overlap; the allocator has a lock.
unsafe impl Sync for Region {}

static REGION: Region = Region(UnsafeCell::new([0; SIZE]));

/// The allocator. Before [`init`] it is empty, and every allocation fails.
struct Locked(Mutex<Heap>);

#[global_allocator]
static HEAP: Locked = Locked(Mutex::new(Heap::empty()));

/// Gives the allocator its memory. Called once.
pub fn init() {
    // SAFETY: nothing else uses the region, and the kernel calls this once, when it boots.
    unsafe { HEAP.0.lock().init(REGION.0.get().cast(), SIZE) };
}

/// How much of the heap is used now.
pub fn usage() -> Usage {
    let heap = HEAP.0.lock();
    Usage {
        used: heap.used(),
        size: heap.size(),
    }
}

/// How much of the heap is used, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    used: usize,
    size: usize,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{used} of {size} bytes of the heap are used",
            used = self.used,
            size = self.size
        )
    }
}

// SAFETY: blocks come from linked_list_allocator, which fulfils the contract, and the lock allows one call at a time.
unsafe impl GlobalAlloc for Locked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = self.0.lock().allocate_first_fit(layout);
        block.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = NonNull::new(block) {
            // SAFETY: the caller says that the block came from `alloc` with this layout.
            unsafe { self.0.lock().deallocate(block, layout) };
        }
    }
}
