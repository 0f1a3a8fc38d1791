//! Counts reads of tables and names, in this crate's own tests: what bounds them is tested by counting. Elsewhere there is no code
//! of it.

/// A number is read, of one byte or several.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn note() {}

#[cfg(test)]
pub(crate) use counted::note;

#[cfg(test)]
mod counted {
    extern crate std;

    use core::cell::Cell;

    std::thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    /// A number is read, of one byte or several.
    pub(crate) fn note() {
        COUNT.set(COUNT.get() + 1);
    }

    /// The reads of this thread during `work`, and its result.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (u64, T) {
        let before = COUNT.get();
        let result = work();
        (COUNT.get() - before, result)
    }
}

#[cfg(test)]
mod tests;
