//! Stopping the other processors for a report, and what each of them leaves for it.
//!
//! One processor at a time holds the others. It sends each an NMI; each answers by showing where it was interrupted, and
//! waits. The report then walks their stacks, which stand still. No lock is taken, and who holds waits for nobody without a
//! bound.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::arch::trap::TrapFrame;
use crate::arch::{cpu, interrupts};
use crate::cpus::{self, MOST};
use crate::report::Cause;

/// Seconds before a processor is taken not to answer, while an answer takes a few instructions. Long, because processors
/// may be emulated one after another.
const PATIENCE: u64 = 3;

/// The low bits of [`HELD`] when no processor holds the others.
const NOBODY: usize = 0;

/// Bits of [`HELD`] for a processor's number.
const CPU_BITS: u32 = 8;

/// Which processor holds the others, its number plus one, and above that how often any has. One who was held tells by it
/// a new holder from the last one: it may not have seen that it was let go in between.
static HELD: AtomicUsize = AtomicUsize::new(NOBODY);

const fn holder(held: usize) -> usize {
    held & ((1 << CPU_BITS) - 1)
}

/// A processor's side.
struct Side {
    /// It was sent an NMI that it has not seen yet.
    is_asked: AtomicBool,
    /// What the NMI interrupted, while it waits in the handler.
    frame: AtomicPtr<TrapFrame>,
    /// The value of [`HELD`] for which it waits: for another one, what `frame` says is old.
    waits_for: AtomicUsize,
    /// Why it would report itself, while it waits for that; otherwise null.
    cause: AtomicPtr<()>,
}

static SIDES: [Side; MOST] = [const {
    Side {
        is_asked: AtomicBool::new(false),
        frame: AtomicPtr::new(null_mut()),
        waits_for: AtomicUsize::new(NOBODY),
        cause: AtomicPtr::new(null_mut()),
    }
}; MOST];

/// What a processor was doing.
#[derive(Clone, Copy, Debug)]
pub enum Other<'a> {
    /// It was interrupted here.
    Interrupted(&'a TrapFrame),
    /// It has met an error too, and waits for its turn.
    Failed(&'a Cause<'a>),
    /// It did not answer in time.
    Silent,
}

/// Whether this processor holds the others, from now on if nobody did.
pub fn hold() -> bool {
    let this = cpus::this() + 1;
    let held = HELD.load(Ordering::Acquire);
    if holder(held) != NOBODY {
        return holder(held) == this;
    }
    let times = (held >> CPU_BITS).wrapping_add(1);
    HELD.compare_exchange(
        held,
        times << CPU_BITS | this,
        Ordering::AcqRel,
        Ordering::Acquire,
    )
    .is_ok()
}

/// Waits until this processor holds the others, and meanwhile shows why it wants to. Does not return when another one
/// reports the end of the kernel.
pub fn hold_for(cause: &Cause<'_>) {
    if hold() {
        return;
    }
    let cell = &SIDES[cpus::this()].cause;
    cell.store(core::ptr::from_ref(cause) as *mut (), Ordering::Release);
    while !hold() {
        core::hint::spin_loop();
    }
    cell.store(null_mut(), Ordering::Release);
}

/// Lets the others go on. Not inlined, so that a debugger can stop when a report is done.
#[inline(never)]
pub fn release() {
    let held = HELD.load(Ordering::Relaxed);
    HELD.store(held - holder(held), Ordering::Release);
}

/// All others, by number.
pub fn others() -> impl Iterator<Item = usize> {
    let this = cpus::this();
    cpus::online().filter(move |cpu| *cpu != this)
}

/// Waits for the others to answer an NMI that reached them all, without asking them: a second NMI, kept back while the
/// first is being handled, would hide the next one from outside.
pub fn expect() {
    wait(PATIENCE * cpu::ticks_per_second());
}

/// Has the others stop, and waits until they have, or will not. Called by who holds them.
pub fn stop() {
    for cpu in others() {
        if !has_answered(cpu) {
            SIDES[cpu].is_asked.store(true, Ordering::Release);
            interrupts::send_nmi(cpus::hardware_id(cpu) as u32);
        }
    }
    wait(PATIENCE * cpu::ticks_per_second());
}

fn wait(ticks: u64) {
    let begin = cpu::ticks();
    while !others().all(has_answered) && cpu::ticks().wrapping_sub(begin) < ticks {
        core::hint::spin_loop();
    }
}

fn has_answered(cpu: usize) -> bool {
    let side = &SIDES[cpu];
    waits(side) || !side.cause.load(Ordering::Acquire).is_null()
}

/// Whether it waits for who holds it now.
fn waits(side: &Side) -> bool {
    side.waits_for.load(Ordering::Acquire) == HELD.load(Ordering::Relaxed)
}

/// What another processor was doing. Called by who holds it, after [`stop`].
pub fn other(cpu: usize) -> Other<'static> {
    let side = &SIDES[cpu];
    let cause = side.cause.load(Ordering::Acquire).cast::<Cause<'static>>();
    // SAFETY: set by `hold_for` alone, which does not return while somebody else holds, so that what it was given stays.
    if let Some(cause) = unsafe { cause.as_ref() } {
        return Other::Failed(cause);
    }
    if !waits(side) {
        return Other::Silent;
    }
    // SAFETY: set by `answer` alone, which does not return as long as who it waits for holds: the caller.
    match unsafe { side.frame.load(Ordering::Acquire).as_ref() } {
        Some(frame) => Other::Interrupted(frame),
        None => Other::Silent,
    }
}

/// Whether this processor was asked to stop since the last call.
pub fn was_asked() -> bool {
    SIDES[cpus::this()].is_asked.swap(false, Ordering::AcqRel)
}

/// Whether this processor holds the others: it reports.
pub fn holds() -> bool {
    holder(HELD.load(Ordering::Acquire)) == cpus::this() + 1
}

/// Whether another processor holds this one.
pub fn is_held() -> bool {
    let holder = holder(HELD.load(Ordering::Acquire));
    holder != NOBODY && holder != cpus::this() + 1
}

/// Shows what was interrupted, and waits until whoever holds this processor now lets go. It does not wait for who comes
/// after: that one sends an NMI of its own, or has one from outside sent, which would be left over then.
pub fn answer(frame: &mut TrapFrame) {
    let held = HELD.load(Ordering::Acquire);
    if holder(held) == NOBODY {
        return;
    }
    let side = &SIDES[cpus::this()];
    side.frame.store(frame, Ordering::Relaxed);
    side.waits_for.store(held, Ordering::Release);
    while HELD.load(Ordering::Acquire) == held {
        core::hint::spin_loop();
    }
    side.waits_for.store(NOBODY, Ordering::Relaxed);
}
