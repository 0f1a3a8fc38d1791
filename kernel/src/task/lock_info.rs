//! What is known of a lock, apart from what it guards: tasks wait for it, and reports tell of it.

use core::fmt;
use core::panic::Location;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::get;

/// What is known of a lock.
#[derive(Debug)]
pub struct LockInfo {
    name: &'static str,
    /// The number of the task that holds it, plus one.
    holder: AtomicUsize,
    /// Where that took it.
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

    /// Notes that the task with this number holds it since `place`.
    pub fn take(&self, task: usize, place: &'static Location<'static>) {
        let place = core::ptr::from_ref(place).cast_mut();
        self.place.store(place, Ordering::Relaxed);
        self.holder.store(task + 1, Ordering::Release);
    }

    /// Notes that nobody holds it.
    pub fn release(&self) {
        self.holder.store(0, Ordering::Release);
    }

    /// The number of the task that holds it; none also for the moment in which somebody takes it.
    pub fn holder(&self) -> Option<usize> {
        self.holder.load(Ordering::Acquire).checked_sub(1)
    }

    /// Where that took it.
    fn place(&self) -> Option<&'static Location<'static>> {
        let place = self.place.load(Ordering::Relaxed);
        // SAFETY: null, or a static.
        unsafe { place.as_ref() }
    }
}

/// Its name, who holds it, and since where.
impl fmt::Display for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lock {}", self.name)?;
        let Some(holder) = self.holder() else {
            return Ok(());
        };
        write!(f, ", which task {} holds", get(holder).name())?;
        match self.place() {
            Some(place) => write!(f, " since {place}"),
            None => Ok(()),
        }
    }
}

/// A lock that can be exchanged at any time, or none.
#[derive(Debug)]
pub struct AtomicLock(AtomicPtr<LockInfo>);

impl AtomicLock {
    /// None.
    pub const fn none() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Reads it.
    pub fn load(&self) -> Option<&'static LockInfo> {
        // SAFETY: null, or from `store`.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Changes it.
    pub fn store(&self, lock: Option<&'static LockInfo>) {
        let lock = lock.map_or(core::ptr::null(), core::ptr::from_ref);
        self.0.store(lock.cast_mut(), Ordering::Release);
    }
}
