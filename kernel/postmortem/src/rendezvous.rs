//! The rendezvous: how one CPU stops the others while it reads their stacks. It takes no lock, and the holder never waits
//! without a bound.
//!
//! One CPU at a time holds the others. It sends each an NMI; each answers with where it was interrupted, and waits in the
//! handler until the holder releases it. A CPU that failed itself shows its own cause instead, and waits for its turn to hold.
//!
//! Pointers are untyped here: this file is only the protocol, whose orders of loads and stores `loom` checks in
//! `tests/rendezvous.rs`. `held.rs` adds the types, and the lifetimes that make it safe.

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
    /// others. By the counter a waiting CPU distinguishes a new holder from the one that it has answered, even if it has missed
    /// the release in between.
    pub held: AtomicUsize,
}

/// One CPU's state in the protocol. Only this CPU writes to it, except for `is_asked`.
#[derive(Debug)]
pub struct Side {
    /// It was sent an NMI that it has not handled yet.
    pub is_asked: AtomicBool,
    /// What it shows while it waits in the NMI's handler.
    pub stopped: AtomicPtr<()>,
    /// The value of [`Rendezvous::held`] that it has answered; if the current value differs, `stopped` is out of date.
    pub waits_for: AtomicUsize,
    /// What it shows while it waits for its turn to hold; null otherwise.
    pub failed: AtomicPtr<()>,
    /// How many times it holds the others, nested.
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
    /// Makes this CPU hold the others, unless another one does, and returns whether it does now. Calls may be nested; the
    /// others are released after as many calls of [`Self::release`].
    pub fn hold(&self, this: usize, side: &Side) -> bool {
        let own = this.wrapping_add(1);
        let held = self.held.load(Ordering::Relaxed);
        let holds = match holder(held) {
            NOBODY => {
                let generation = (held >> CPU_BITS).wrapping_add(1);
                let new = generation << CPU_BITS | own;
                // Acquire: everything that the last holder did happens before this.
                self.held
                    .compare_exchange(held, new, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            }
            holder => holder == own,
        };
        if holds {
            // Relaxed: only this CPU reads or writes it.
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
        // Relaxed: this CPU is the holder, so no other CPU reads it.
        side.failed.store(null_mut(), Ordering::Relaxed);
    }

    /// Releases the others when it has been called as often as [`Self::hold`]. Not inlined, so that a debugger can stop where a
    /// report is done.
    #[inline(never)]
    pub fn release(&self, side: &Side) {
        let depth = side.depth.load(Ordering::Relaxed).wrapping_sub(1);
        side.depth.store(depth, Ordering::Relaxed);
        if depth == 0 {
            let held = self.held.load(Ordering::Relaxed);
            // Release: all reads of the others' memory happen before this.
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

    /// Shows what was interrupted, and waits until the current holder releases this CPU. It does not wait for the next holder,
    /// which sends an NMI of its own: that would arrive after the wait, when it is no longer needed.
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

    /// What another CPU shows to the caller, which holds it. The pointer is valid until the caller's last [`Self::release`].
    pub fn shown(&self, other: &Side) -> Shown {
        // Only `hold_for` sets it, which does not return while the caller holds.
        if let Some(failed) = NonNull::new(other.failed.load(Ordering::Acquire)) {
            return Shown::Failed(failed);
        }
        // Only `answer` sets it, which does not return while the holder that it has answered holds.
        if other.waits_for.load(Ordering::Acquire) != self.held.load(Ordering::Relaxed) {
            return Shown::Silent;
        }
        NonNull::new(other.stopped.load(Ordering::Relaxed)).map_or(Shown::Silent, Shown::Stopped)
    }
}
