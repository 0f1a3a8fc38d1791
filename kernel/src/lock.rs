//! Locks that know who holds them.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::panic::Location;

use spin::{Mutex, MutexGuard};

use crate::task::{self, LockInfo};

/// A lock around a value. Who waits for it lets other tasks run, and notices when it would wait for ever.
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

    /// Takes the lock, or waits until that is possible.
    ///
    /// # Panics
    /// It never will be: who holds it waits for the current task, by way of others or none. Holding it twice is that too.
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
            // Looked at twice: on another processor somebody may let go of one lock and wait for the next in between.
            if Deadlock::find().and_then(|_| Deadlock::find()).is_some() {
                panic!("{Deadlock}");
            }
            task::wait_for_lock();
        }
    }
}

impl<T> Lock<T> {
    /// Whether somebody holds it at this moment.
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
        // Before the value's own guard opens the lock.
        self.lock.release();
    }
}

/// Tasks that wait for each other; as text, a line that says how.
#[derive(Debug)]
struct Deadlock;

/// The locks that a task waits for, and those that their holders wait for, and so on, each with the task that waits. As many as
/// there can be: in a circle they go on for ever.
pub fn chain(task: usize) -> impl Iterator<Item = (usize, &'static LockInfo)> {
    let next = |task: usize| task::get(task).wants().map(|lock| (task, lock));
    core::iter::successors(next(task), move |(_, lock)| next(lock.holder()?)).take(task::MOST)
}

impl Deadlock {
    /// If the current task waits for itself.
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
            write!(f, "task {} waits for {lock}", task::get(task).name())?;
            if lock.holder() == Some(this) {
                break;
            }
            f.write_str("; ")?;
        }
        Ok(())
    }
}
