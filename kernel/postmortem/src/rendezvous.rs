//! The rendezvous: the protocol with which one CPU stops the others while it reads their stacks. It takes no lock, and the holder never
//! waits without a time limit.
//!
//! Only one CPU at a time holds the others. It sends an NMI to each. Each other CPU answers with where it was interrupted, and waits in the
//! handler until the holder releases it. A CPU that failed itself shows its own cause instead, and waits for its turn to hold. If the
//! holder does not continue, a waiting CPU may replace it permanently, for a report that ends the kernel.
//!
//! Pointers are untyped here. This file is only the protocol, whose orders of loads and stores `loom` checks in `tests/rendezvous.rs`.
//! `held.rs` adds the types, and the lifetimes that make it safe.

use core::ptr::{NonNull, null_mut};

use crate::atomics::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, spin_loop};

/// The value of the low bits of [`Rendezvous::held`] when no CPU holds the others.
const NOBODY: usize = 0;

/// How many bits the holder has in [`Rendezvous::held`].
const CPU_BITS: u32 = 16;

/// In [`Rendezvous::held`]: the holder has replaced another holder, and never releases the others.
const FOR_GOOD: usize = 1 << (usize::BITS - 1);

/// The CPU that holds the others.
#[derive(Debug)]
pub struct Rendezvous {
    /// The number of the holder plus one in the low bits, and above them a generation counter: how often any CPU has held the others. With
    /// the counter a waiting CPU distinguishes a new holder from the holder that it has answered, even if it has missed the release in
    /// between.
    pub held: AtomicUsize,
}

/// The state of a CPU in the protocol. Only this CPU writes to it, except to `is_asked`.
#[derive(Debug)]
pub struct Side {
    /// Whether this CPU was sent an NMI that it has not handled yet.
    pub is_asked: AtomicBool,
    /// The data that this CPU shows while it waits in the NMI's handler.
    pub stopped: AtomicPtr<()>,
    /// The value of [`Rendezvous::held`] that this CPU has answered. If the current value differs, `stopped` is out of date.
    pub waits_for: AtomicUsize,
    /// The data that this CPU shows while it waits for its turn to hold; null otherwise.
    pub failed: AtomicPtr<()>,
    /// The number of nested calls with which this CPU holds the others.
    pub depth: AtomicUsize,
}

/// The data that a CPU shows to the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The CPU stopped for the holder, and passed this pointer to [`Rendezvous::answer`].
    Stopped(NonNull<()>),
    /// The CPU waits for its turn, and passed this pointer to [`Rendezvous::hold_for`].
    Failed(NonNull<()>),
    /// The CPU has not answered.
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
    /// Makes this CPU hold the others, unless another CPU does. Returns whether this CPU holds them. Calls may be nested; the others are
    /// released after as many calls of [`Self::release`].
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

    /// Makes this CPU hold the others like [`Self::hold`], but waits until that is possible, and shows `failed` during the wait. Calls
    /// `poll` repeatedly during the wait.
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

    /// Makes this CPU hold the others permanently, instead of the current holder, which does not continue. Returns whether this CPU holds
    /// them.
    pub fn take(&self, this: usize, side: &Side) -> bool {
        let held = self.held.load(Ordering::Relaxed);
        let new = after(held) | this.wrapping_add(1) | FOR_GOOD;
        let taken = (self.held).compare_exchange(held, new, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            side.depth.store(1, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    /// Releases the others after as many calls as of [`Self::hold`], unless another CPU has [replaced](Self::take) this CPU as the holder.
    /// Not inlined, so that a debugger can stop at the end of a report.
    #[inline(never)]
    pub fn release(&self, this: usize, side: &Side) {
        let depth = side.depth.load(Ordering::Relaxed).wrapping_sub(1);
        side.depth.store(depth, Ordering::Relaxed);
        let held = self.held.load(Ordering::Relaxed);
        if depth == 0 && holder(held) == this.wrapping_add(1) {
            let free = held.wrapping_sub(holder(held));
            // Release: all reads of the others' memory happen before this. The exchange fails if another CPU takes over at this moment.
            let _ = (self.held).compare_exchange(held, free, Ordering::Release, Ordering::Relaxed);
        }
    }

    /// Returns the number of the CPU that holds the others, if a CPU does.
    pub fn holder(&self) -> Option<usize> {
        holder(self.held.load(Ordering::Relaxed)).checked_sub(1)
    }

    /// Returns whether this CPU holds the others, because it reports.
    pub fn is_held_by(&self, this: usize) -> bool {
        holder(self.held.load(Ordering::Relaxed)) == this.wrapping_add(1)
    }

    /// Returns whether another CPU holds this CPU.
    pub fn is_held_by_other(&self, this: usize) -> bool {
        let holder = holder(self.held.load(Ordering::Relaxed));
        holder != NOBODY && holder != this.wrapping_add(1)
    }

    /// Shows what was interrupted, and waits until the current holder releases this CPU. It does not wait for the next holder, which sends
    /// an NMI of its own: that NMI would arrive after the wait, when it is no longer needed. A holder that has replaced another holder does
    /// not release this CPU. Calls `poll` repeatedly during the wait.
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

    /// Returns what another CPU shows to the caller, which holds it. The pointer is valid until the caller's last [`Self::release`].
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
