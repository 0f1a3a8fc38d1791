//! The name and holder of a lock, without its value: for tasks that wait for it, and for reports.

use core::fmt;
use core::panic::Location;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::get;

/// The name and holder of a lock. Whoever looks from outside reads its first words, as `symbols.rs` describes them.
#[repr(C)]
#[derive(Debug)]
pub struct LockInfo {
    /// An address and a length, in this order with every compiler so far; a test of the walk from outside relies on it.
    name: &'static str,
    /// The number of the task that holds it, plus one.
    holder: AtomicUsize,
    /// Where the holder took it.
    place: AtomicPtr<Location<'static>>,
}

impl LockInfo {
    /// A lock with this name, which nobody holds.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            holder: AtomicUsize::new(0),
            place: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Notes that the task with this number took it at `place`.
    pub fn take(&self, task: usize, place: &'static Location<'static>) {
        let place = core::ptr::from_ref(place).cast_mut();
        self.place.store(place, Ordering::Relaxed);
        self.holder.store(task + 1, Ordering::Release);
    }

    /// Notes that no task holds it.
    pub fn release(&self) {
        self.holder.store(0, Ordering::Release);
    }

    /// The number of the task that holds it. For a moment after the mutex is taken it is not known yet.
    pub fn holder(&self) -> Option<usize> {
        self.holder.load(Ordering::Acquire).checked_sub(1)
    }

    /// Where the holder took it.
    fn place(&self) -> Option<&'static Location<'static>> {
        let place = self.place.load(Ordering::Relaxed);
        // SAFETY: null, or from `take`, which stores a `&'static Location`.
        unsafe { place.as_ref() }
    }
}

/// As text, its name, its holder, and where that took it.
impl fmt::Display for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        let Some(holder) = self.holder() else {
            return write!(f, "lock {name}");
        };
        let task = get(holder).name();
        write!(f, "lock {name}, which task {task} holds")?;
        match self.place() {
            Some(place) => write!(f, " since {place}"),
            None => Ok(()),
        }
    }
}

/// An atomic reference to a lock, or none.
#[derive(Debug)]
pub struct AtomicLock(AtomicPtr<LockInfo>);

impl AtomicLock {
    /// No lock.
    pub const fn none() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Reads it.
    pub fn load(&self) -> Option<&'static LockInfo> {
        // SAFETY: null, or from `store`, which stores a `&'static LockInfo`.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Changes it.
    pub fn store(&self, lock: Option<&'static LockInfo>) {
        let lock = lock.map_or(core::ptr::null(), core::ptr::from_ref);
        self.0.store(lock.cast_mut(), Ordering::Release);
    }
}
