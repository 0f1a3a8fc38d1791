//! The rendezvous: how one CPU stops the others while it reads their stacks. It takes no lock, and the holder never waits
//! without a bound.
//!
//! One CPU at a time holds the others. It sends each an NMI; each answers with where it was interrupted, and waits in the
//! handler until the holder releases it. A CPU that failed itself shows its own cause instead, and waits for its turn to hold.
//! If the holder does not continue, a CPU that waits may take its place for good, for a report that ends the kernel.
//!
//! Pointers are untyped here: this file is only the protocol, whose orders of loads and stores `loom` checks in
//! `tests/rendezvous.rs`. `held.rs` adds the types, and the lifetimes that make it safe.

use core::ptr::{NonNull, null_mut};

use crate::atomics::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, spin_loop};

/// The value of the low bits of [`Rendezvous::held`] when no CPU holds the others.
const NOBODY: usize = 0;

/// How many bits the holder has in [`Rendezvous::held`].
const CPU_BITS: u32 = 16;

/// In [`Rendezvous::held`]: the holder has taken the place of another holder, and never releases the others.
const FOR_GOOD: usize = 1 << (usize::BITS - 1);

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

/// The next generation, without a holder.
const fn after(held: usize) -> usize {
    ((held >> CPU_BITS).wrapping_add(1) << CPU_BITS) & !FOR_GOOD
}

impl Rendezvous {
    /// Makes this CPU hold the others, unless another one does, and returns whether it does now. Calls may be nested; the
    /// others are released after as many calls of [`Self::release`].
    pub fn hold(&self, this: usize, side: &Side) -> bool {
        let own = this.wrapping_add(1);
        let held = self.held.load(Ordering::Relaxed);
        let holds = match holder(held) {
            NOBODY => {
                let new = after(held) | own;
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

    /// As [`Self::hold`], but waits until it is possible, and meanwhile shows `failed`. `poll` is called again and again meanwhile.
    pub fn hold_for(&self, this: usize, side: &Side, failed: NonNull<()>, mut poll: impl FnMut()) {
        if self.hold(this, side) {
            return;
        }
        side.failed.store(failed.as_ptr(), Ordering::Release);
        while !self.hold(this, side) {
            poll();
            spin_loop();
        }
        // Relaxed: this CPU is the holder, so no other CPU reads it.
        side.failed.store(null_mut(), Ordering::Relaxed);
    }

    /// Makes this CPU hold the others for good, in place of the current holder, which does not continue. Returns whether it does now.
    pub fn take(&self, this: usize, side: &Side) -> bool {
        let held = self.held.load(Ordering::Relaxed);
        let new = after(held) | this.wrapping_add(1) | FOR_GOOD;
        let taken = (self.held).compare_exchange(held, new, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            side.depth.store(1, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    /// Releases the others when it has been called as often as [`Self::hold`], unless another CPU has [taken](Self::take) this one's
    /// place. Not inlined, so that a debugger can stop where a report is done.
    #[inline(never)]
    pub fn release(&self, this: usize, side: &Side) {
        let depth = side.depth.load(Ordering::Relaxed).wrapping_sub(1);
        side.depth.store(depth, Ordering::Relaxed);
        let held = self.held.load(Ordering::Relaxed);
        if depth == 0 && holder(held) == this.wrapping_add(1) {
            let free = held.wrapping_sub(holder(held));
            // Release: all reads of the others' memory happen before this. It fails if the place is taken right now.
            let _ = (self.held).compare_exchange(held, free, Ordering::Release, Ordering::Relaxed);
        }
    }

    /// The number of the CPU that holds the others, if one does.
    pub fn holder(&self) -> Option<usize> {
        holder(self.held.load(Ordering::Relaxed)).checked_sub(1)
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
    /// which sends an NMI of its own: that would arrive after the wait, when it is no longer needed. A holder that has taken the place
    /// of another one does not release it. `poll` is called again and again meanwhile.
    pub fn answer(&self, side: &Side, stopped: NonNull<()>, mut poll: impl FnMut()) {
        let mut held = self.held.load(Ordering::Relaxed);
        if holder(held) == NOBODY {
            return;
        }
        side.stopped.store(stopped.as_ptr(), Ordering::Relaxed);
        side.waits_for.store(held, Ordering::Release);
        loop {
            let now = self.held.load(Ordering::Acquire);
            if now == held {
                poll();
                spin_loop();
            } else if now & FOR_GOOD != 0 {
                held = now;
                side.waits_for.store(held, Ordering::Release);
            } else {
                break;
            }
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
