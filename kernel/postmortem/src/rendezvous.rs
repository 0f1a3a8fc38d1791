//! How one CPU makes the others stand still while it looks at their stacks. No lock is taken, and whoever holds the others
//! waits for none of them without a bound.
//!
//! One CPU at a time holds the others. It sends each an NMI; each answers by showing where it was interrupted, and waits in the
//! handler until the holder lets go. A CPU that wants to report something itself shows that instead, and waits for its turn.
//!
//! What is shown are bare pointers here: this file is the protocol alone, of which `tests/rendezvous.rs` has `loom` check every
//! order of its loads and stores. The types, and the lifetimes that make it safe, are those of `held.rs`.

use core::ptr::{NonNull, null_mut};

use crate::atomics::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, spin_loop};

/// The value of the low bits of [`Rendezvous::held`] when no CPU holds the others.
const NOBODY: usize = 0;

/// How many bits the holder has in [`Rendezvous::held`].
const CPU_BITS: u32 = 16;

/// Who holds the others.
#[derive(Debug)]
pub struct Rendezvous {
    /// In the low bits the number of the holder plus one, and above them a generation counter: how often any CPU has held the
    /// others. By the counter, a CPU that waits tells a new holder from the one that it has answered: it may not have seen that
    /// it was let go in between.
    pub held: AtomicUsize,
}

/// A CPU's side. Only this CPU writes to it, but for `is_asked`.
#[derive(Debug)]
pub struct Side {
    /// It was sent an NMI that it has not seen yet.
    pub is_asked: AtomicBool,
    /// What it shows while it waits in the NMI's handler.
    pub stopped: AtomicPtr<()>,
    /// The value of [`Rendezvous::held`] for which it waits; if that is another one, `stopped` is out of date.
    pub waits_for: AtomicUsize,
    /// What it shows while it waits for its turn to hold; null otherwise.
    pub failed: AtomicPtr<()>,
    /// How often it has begun to hold the others, and not ended it.
    pub depth: AtomicUsize,
}

/// What a CPU shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It stopped for the holder: what it gave to [`Rendezvous::answer`].
    Stopped(NonNull<()>),
    /// It waits for its turn: what it gave to [`Rendezvous::hold_for`].
    Failed(NonNull<()>),
    /// It has not answered.
    Silent,
}

const fn holder(held: usize) -> usize {
    held & ((1 << CPU_BITS) - 1)
}

impl Rendezvous {
    /// Makes this CPU hold the others, unless another one does; whether it does now. It may do so several times, and lets go
    /// when it has called [`Self::release`] as often.
    pub fn hold(&self, this: usize, side: &Side) -> bool {
        let own = this.wrapping_add(1);
        let held = self.held.load(Ordering::Relaxed);
        let holds = match holder(held) {
            NOBODY => {
                let generation = (held >> CPU_BITS).wrapping_add(1);
                let new = generation << CPU_BITS | own;
                // Everything that the last holder did was done before this.
                self.held
                    .compare_exchange(held, new, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            }
            holder => holder == own,
        };
        if holds {
            // No other CPU writes here; the order to other words does not matter.
            let depth = side.depth.load(Ordering::Relaxed);
            side.depth.store(depth.wrapping_add(1), Ordering::Relaxed);
        }
        holds
    }

    /// As [`Self::hold`], but waits until it is possible, and meanwhile shows `failed`.
    pub fn hold_for(&self, this: usize, side: &Side, failed: NonNull<()>) {
        if self.hold(this, side) {
            return;
        }
        side.failed.store(failed.as_ptr(), Ordering::Release);
        while !self.hold(this, side) {
            spin_loop();
        }
        // Nobody else can hold now, and so nobody looks at it.
        side.failed.store(null_mut(), Ordering::Relaxed);
    }

    /// Lets the others go on, when this has been called as often as this CPU began to hold them. Not inlined, so that a debugger
    /// can stop where a report is done.
    #[inline(never)]
    pub fn release(&self, side: &Side) {
        let depth = side.depth.load(Ordering::Relaxed).wrapping_sub(1);
        side.depth.store(depth, Ordering::Relaxed);
        if depth == 0 {
            let held = self.held.load(Ordering::Relaxed);
            // Everything that was read of the others was read before this.
            self.held
                .store(held.wrapping_sub(holder(held)), Ordering::Release);
        }
    }

    /// Whether this CPU holds the others: it reports.
    pub fn is_held_by(&self, this: usize) -> bool {
        holder(self.held.load(Ordering::Relaxed)) == this.wrapping_add(1)
    }

    /// Whether another CPU holds this one.
    pub fn is_held_by_other(&self, this: usize) -> bool {
        let holder = holder(self.held.load(Ordering::Relaxed));
        holder != NOBODY && holder != this.wrapping_add(1)
    }

    /// Shows what was interrupted, and waits until whoever holds this CPU now lets go. It does not wait for who comes after
    /// that: that one sends an NMI of its own, which would come later and find nobody who wants it.
    pub fn answer(&self, side: &Side, stopped: NonNull<()>) {
        let held = self.held.load(Ordering::Relaxed);
        if holder(held) == NOBODY {
            return;
        }
        side.stopped.store(stopped.as_ptr(), Ordering::Relaxed);
        side.waits_for.store(held, Ordering::Release);
        while self.held.load(Ordering::Acquire) == held {
            spin_loop();
        }
        side.waits_for.store(NOBODY, Ordering::Relaxed);
    }

    /// What another CPU shows to the one that holds it, which is the caller. What it points to stays as it is until the caller
    /// calls [`Self::release`].
    pub fn shown(&self, other: &Side) -> Shown {
        // Set by `hold_for` alone, which does not return as long as the caller holds.
        if let Some(failed) = NonNull::new(other.failed.load(Ordering::Acquire)) {
            return Shown::Failed(failed);
        }
        // Set by `answer` alone, which does not return as long as the CPU that it waits for holds.
        if other.waits_for.load(Ordering::Acquire) != self.held.load(Ordering::Relaxed) {
            return Shown::Silent;
        }
        NonNull::new(other.stopped.load(Ordering::Relaxed)).map_or(Shown::Silent, Shown::Stopped)
    }
}
