//! Locks that know which task holds them, and detect deadlocks.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::panic::Location;

use spin::{Mutex, MutexGuard};

use crate::task::{self, LockInfo};

/// A lock around a value. A task that waits for it lets other tasks run, and detects a deadlock.
#[derive(Debug)]
pub struct Lock<T> {
    info: LockInfo,
    value: Mutex<T>,
}

/// The right to use the value.
#[derive(Debug)]
pub struct Guard<T: 'static> {
    lock: &'static LockInfo,
    value: MutexGuard<'static, T>,
}

impl<T> Lock<T> {
    /// A lock with this name, which nobody holds.
    pub const fn new(name: &'static str, value: T) -> Self {
        Self {
            info: LockInfo::new(name),
            value: Mutex::new(value),
        }
    }

    /// Takes the lock; waits while another task holds it.
    ///
    /// # Panics
    /// On a deadlock: the holder waits for the current task, directly or through others. Taking a lock twice is one.
    #[track_caller]
    pub fn lock(&'static self) -> Guard<T> {
        let task = task::get(task::current());
        loop {
            if let Some(value) = self.value.try_lock() {
                task.want(None);
                self.info.take(task::current(), Location::caller());
                let lock = &self.info;
                return Guard { lock, value };
            }
            task.want(Some(&self.info));
            // Other CPUs may take and release locks during a check. What it finds shows only that the last task of the circle
            // waits for this one, and so goes on waiting. The next check shows that of one task more.
            if (0..task::MAX_TASKS).all(|_| Deadlock::find().is_some()) {
                panic!("{Deadlock}");
            }
            task::wait_for_lock();
        }
    }
}

impl<T> Lock<T> {
    /// Whether a task holds it now.
    pub fn is_held(&self) -> bool {
        self.value.is_locked()
    }
}

impl<T> Deref for Guard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Guard<T> {
    fn drop(&mut self) {
        // Before the field `value` is dropped, which unlocks the mutex.
        self.lock.release();
    }
}

/// A deadlock of the current task; as text, a line that says which task waits for which lock.
#[derive(Debug)]
struct Deadlock;

/// The lock that a task waits for, the lock that its holder waits for, and so on, each with the waiting task. In a deadlock
/// they form a circle, so at most as many as there are tasks are returned.
pub fn chain(task: usize) -> impl Iterator<Item = (usize, &'static LockInfo)> {
    let next = |task: usize| task::get(task).wants().map(|lock| (task, lock));
    core::iter::successors(next(task), move |(_, lock)| next(lock.holder()?)).take(task::MAX_TASKS)
}

impl Deadlock {
    /// A deadlock, if the current task waits for itself.
    fn find() -> Option<Self> {
        let this = task::current();
        let holds = |(_, lock): (usize, &LockInfo)| lock.holder() == Some(this);
        chain(this).any(holds).then_some(Self)
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadlock: ")?;
        let this = task::current();
        for (task, lock) in chain(this) {
            let name = task::get(task).name();
            write!(f, "task {name} waits for {lock}")?;
            if lock.holder() == Some(this) {
                break;
            }
            f.write_str("; ")?;
        }
        Ok(())
    }
}
