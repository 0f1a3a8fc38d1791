//! Finds processors that hang with interrupts masked: at every tick of its timer each one looks whether the next one's still
//! ticks, and if it does not for long, reports it. The processor that hangs is stopped by an NMI, like all others for a report.
//!
//! So it takes two processors. One alone needs an NMI that comes by itself: a performance counter's, which QEMU does not
//! emulate.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cpus::{self, MOST};
use crate::timer::TICKS_PER_SECOND;
use crate::{panic, timer};

/// Seconds without a tick after which a processor hangs. Long, because processors may be emulated one after another.
pub const SECONDS: u64 = 3;

/// A processor's part.
struct Watch {
    /// Ticks so far.
    ticks: AtomicU64,
    /// Those of the next processor, when this one saw them change.
    seen: AtomicU64,
    /// And its own ticks then.
    since: AtomicU64,
}

static WATCHES: [Watch; MOST] = [const {
    Watch {
        ticks: AtomicU64::new(0),
        seen: AtomicU64::new(0),
        since: AtomicU64::new(0),
    }
}; MOST];

/// Whether anybody looks.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Starts the timers of all processors that are idle, and watches them and this one.
pub fn start() {
    IS_ON.store(true, Ordering::Release);
    cpus::online()
        .filter(|cpu| *cpu != cpus::this())
        .for_each(|cpu| cpus::run_on(cpu, timer::start));
    timer::start();
}

/// Whether this processor is watched: its timer has ticked.
pub fn watches_this() -> bool {
    WATCHES[cpus::this()].ticks.load(Ordering::Relaxed) > 0
}

/// Called at every tick of this processor.
pub fn tick() {
    let this = cpus::this();
    let watch = &WATCHES[this];
    let now = watch.ticks.fetch_add(1, Ordering::Relaxed) + 1;
    if !IS_ON.load(Ordering::Acquire) {
        return;
    }
    let later = cpus::online().find(|cpu| *cpu > this);
    let next = later.or_else(|| cpus::online().next()).unwrap_or(this);
    let ticks = WATCHES[next].ticks.load(Ordering::Relaxed);
    // One that has not begun to tick is not watched.
    if ticks == 0 || ticks != watch.seen.swap(ticks, Ordering::Relaxed) {
        watch.since.store(now, Ordering::Relaxed);
    } else if now - watch.since.load(Ordering::Relaxed) > SECONDS * TICKS_PER_SECOND && next != this
    {
        panic::hang(next);
    }
}
