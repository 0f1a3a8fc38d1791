//! CPUs that watch each other's timers: see [`postmortem::Watchdog`]. One that hangs is stopped by an NMI, like all others for a
//! report.

use postmortem::{Ticks, Watchdog};

use crate::cpus::{self, MOST};
use crate::timer::TICKS_PER_SECOND;
use crate::{panic, timer};

static WATCHDOG: Watchdog = Watchdog::new();
static TICKS: [Ticks; MOST] = [const { Ticks::new() }; MOST];

/// Starts the timers of all CPUs that are idle, and watches them and this one.
pub fn start() {
    WATCHDOG.start();
    cpus::online()
        .filter(|cpu| *cpu != cpus::this())
        .for_each(|cpu| cpus::run_on(cpu, timer::start));
    timer::start();
}

/// Whether this CPU is watched: its timer has ticked.
pub fn watches_this() -> bool {
    TICKS[cpus::this()].have_begun()
}

/// Called at every tick of this CPU.
pub fn tick() {
    let ticks = |cpu: usize| &TICKS[cpu];
    let hangs = WATCHDOG.tick(cpus::this(), cpus::online(), ticks, TICKS_PER_SECOND);
    if let Some(cpu) = hangs {
        panic::hang(cpu);
    }
}
