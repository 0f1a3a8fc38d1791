//! Who sends log frames: each CPU, and each report on it, one inside the other. Each has at most one frame on its way.

use core::cell::UnsafeCell;
use core::ptr::{self, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::cpus::{self, MAX_CPUS};
use crate::interrupt::Masked;
use crate::wire::{self, Frame};

/// A sender of frames.
///
/// It belongs to one CPU, which uses it with interrupts masked: what comes in between ends before the interrupted code goes on.
pub struct Sender {
    /// Accessed only by who has set `is_busy`.
    frame: UnsafeCell<Option<Frame>>,
    is_busy: AtomicBool,
    /// How many frames have begun that are not sent, one inside the other.
    dropped: AtomicUsize,
}

// SAFETY: the frame is accessed only between `begin`, which sets `is_busy` if it was not set, and `end`, which clears it. A frame
// that begins meanwhile is dropped, and while it is, the frame is not accessed.
unsafe impl Sync for Sender {}

/// Those of the CPUs.
static OF_CPUS: [Sender; MAX_CPUS] = [const { Sender::new() }; MAX_CPUS];
/// That of the innermost report of each CPU; null if it writes none.
static OF_REPORTS: [AtomicPtr<Sender>; MAX_CPUS] = [const { AtomicPtr::new(null_mut()) }; MAX_CPUS];

/// Calls this for a report, which has a sender of its own: it may have come in the middle of a frame.
pub fn report<R>(call: impl FnOnce() -> R) -> R {
    let _masked = Masked::new();
    let sender = Sender::new();
    let innermost = &OF_REPORTS[cpus::this()];
    let outer = innermost.swap(ptr::from_ref(&sender).cast_mut(), Ordering::Relaxed);
    let result = call();
    innermost.store(outer, Ordering::Relaxed);
    result
}

/// Whether this is part of a report.
pub fn is_report() -> bool {
    let _masked = Masked::new();
    !OF_REPORTS[cpus::this()].load(Ordering::Relaxed).is_null()
}

/// Calls this with the sender of what runs now on this CPU. Interrupts are masked.
pub fn with<R>(call: impl FnOnce(&Sender) -> R) -> R {
    let cpu = cpus::this();
    let report = OF_REPORTS[cpu].load(Ordering::Relaxed);
    // SAFETY: null, or `report` of this CPU has stored the address of its variable. It has not returned: it is further out on the
    // stack, and interrupts have been masked since.
    let report = unsafe { report.as_ref() };
    call(report.unwrap_or(&OF_CPUS[cpu]))
}

impl Sender {
    const fn new() -> Self {
        Self {
            frame: UnsafeCell::new(None),
            is_busy: AtomicBool::new(false),
            dropped: AtomicUsize::new(0),
        }
    }

    /// Begins a frame. It is dropped if this sender has one on its way, which was interrupted.
    pub fn begin(&self) {
        if self.is_busy.swap(true, Ordering::Acquire) {
            self.drop_frame();
            return;
        }
        // SAFETY: `is_busy` was not set, so nobody else accesses it.
        unsafe { *self.frame.get() = Some(Frame::begin()) };
    }

    /// Begins a frame that is not sent.
    pub fn drop_frame(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        wire::lose();
    }

    /// Adds to the frame that was begun last.
    pub fn add(&self, bytes: &[u8]) {
        if self.dropped.load(Ordering::Relaxed) == 0 {
            // SAFETY: the frame that was begun last has set `is_busy`, and this belongs to it.
            if let Some(frame) = unsafe { &mut *self.frame.get() } {
                frame.add(bytes);
            }
        }
    }

    /// Ends the frame that was begun last. Returns whether it was not dropped.
    pub fn end(&self) -> bool {
        if self.dropped.load(Ordering::Relaxed) > 0 {
            self.dropped.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        // SAFETY: as in `add`.
        if let Some(frame) = unsafe { (*self.frame.get()).take() } {
            frame.end();
        }
        self.is_busy.store(false, Ordering::Release);
        true
    }
}
