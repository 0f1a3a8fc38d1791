//! Finds CPUs that hang with interrupts masked. At every tick of its timer each CPU checks whether the timer of the next CPU still ticks.
//!
//! A report masks interrupts, too. A CPU whose report, or whose wait for another report, continues does not hang.
//!
//! The watchdog needs two CPUs. A single CPU would need a periodic NMI, for example from a performance counter.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of seconds without a tick after which a CPU counts as hung. It is long, because an emulator may run its CPUs one after
/// another.
pub const SECONDS: u64 = 3;

/// The watchdog's data for one CPU.
#[derive(Debug)]
pub struct Ticks {
    /// Ticks of this CPU so far.
    own: AtomicU64,
    /// Ticks of the next CPU, and steps of its reports, when this one last saw them change.
    seen: AtomicU64,
    /// Ticks of this CPU at that time.
    since: AtomicU64,
}

impl Default for Ticks {
    fn default() -> Self {
        Self::new()
    }
}

impl Ticks {
    /// Creates the data of a CPU whose timer has not ticked yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            own: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            since: AtomicU64::new(0),
        }
    }

    /// Returns whether this CPU is watched, because its timer has ticked.
    pub fn have_begun(&self) -> bool {
        self.own.load(Ordering::Relaxed) > 0
    }
}

/// The watchdog, which is off at first.
#[derive(Debug)]
pub struct Watchdog {
    is_on: AtomicBool,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self::new()
    }
}

impl Watchdog {
    /// Creates a watchdog that is off.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            is_on: AtomicBool::new(false),
        }
    }

    /// Turns the watchdog on.
    pub fn start(&self) {
        self.is_on.store(true, Ordering::Release);
    }

    /// Counts a tick of CPU `this`. Returns the CPU that hangs, if the watched CPU does.
    ///
    /// `cpus` are the numbers of the CPUs that are online, in order; `ticks` returns a CPU's ticks, and `steps` a number that changes while
    /// a report of the CPU continues.
    pub fn tick<'a>(
        &self,
        this: usize,
        cpus: impl Iterator<Item = usize> + Clone,
        ticks: impl Fn(usize) -> &'a Ticks,
        steps: impl Fn(usize) -> u64,
        ticks_per_second: u64,
    ) -> Option<usize> {
        let own = ticks(this);
        let now = own.own.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if !self.is_on.load(Ordering::Acquire) {
            return None;
        }
        let watched = cpus.clone().find(|cpu| *cpu > this);
        let watched = watched.or_else(|| cpus.clone().next())?;
        let seen = ticks(watched).own.load(Ordering::Relaxed);
        // A CPU whose timer has not begun to tick is not watched.
        let is_watched = seen != 0;
        let seen = seen.wrapping_add(steps(watched));
        if !is_watched || seen != own.seen.swap(seen, Ordering::Relaxed) {
            own.since.store(now, Ordering::Relaxed);
            return None;
        }
        let without = now.wrapping_sub(own.since.load(Ordering::Relaxed));
        (without > SECONDS.saturating_mul(ticks_per_second) && watched != this).then_some(watched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 10;

    struct Machine {
        watchdog: Watchdog,
        ticks: [Ticks; 3],
        steps: [AtomicU64; 3],
    }

    impl Machine {
        fn new() -> Self {
            let machine = Self {
                watchdog: Watchdog::new(),
                ticks: [const { Ticks::new() }; 3],
                steps: [const { AtomicU64::new(0) }; 3],
            };
            machine.watchdog.start();
            machine
        }

        fn tick(&self, cpu: usize) -> Option<usize> {
            let ticks = |cpu: usize| &self.ticks[cpu];
            let steps = |cpu: usize| self.steps[cpu].load(Ordering::Relaxed);
            self.watchdog.tick(cpu, 0..3, ticks, steps, RATE)
        }
    }

    #[test]
    fn a_cpu_that_ticks_is_not_judged() {
        let machine = Machine::new();
        for _ in 0..20 * RATE {
            assert_eq!([0, 1, 2].map(|cpu| machine.tick(cpu)), [None; 3]);
        }
    }

    #[test]
    fn the_cpu_that_stops_is_found_by_the_one_before_it_and_not_too_early() {
        let machine = Machine::new();
        assert_eq!([0, 1, 2].map(|cpu| machine.tick(cpu)), [None; 3]);
        // From here on CPU 2 hangs.
        let mut found = 0;
        for tick in 1..=SECONDS * RATE + 2 {
            assert_eq!(machine.tick(0), None, "CPU 0 watches CPU 1, which ticks");
            if machine.tick(1) == Some(2) {
                found = tick;
                break;
            }
        }
        assert_eq!(found, SECONDS * RATE + 2);
    }

    #[test]
    fn a_cpu_whose_report_continues_is_not_judged_until_it_stops() {
        let machine = Machine::new();
        assert_eq!([0, 1, 2].map(|cpu| machine.tick(cpu)), [None; 3]);
        for _ in 0..20 * RATE {
            machine.steps[2].fetch_add(1, Ordering::Relaxed);
            assert_eq!([0, 1].map(|cpu| machine.tick(cpu)), [None; 2]);
        }
        let found = (0..SECONDS * RATE + 2).map(|_| (machine.tick(0), machine.tick(1)).1);
        assert_eq!(found.last(), Some(Some(2)));
    }

    #[test]
    fn the_last_one_watches_the_first() {
        let machine = Machine::new();
        machine.tick(0);
        let ticks = 0..=SECONDS * RATE + 1;
        assert_eq!(ticks.map(|_| machine.tick(2)).last(), Some(Some(0)));
    }

    #[test]
    fn one_that_never_ticked_or_is_alone_is_not_judged() {
        let machine = Machine::new();
        for _ in 0..20 * RATE {
            assert_eq!(machine.tick(0), None);
            let alone = machine
                .watchdog
                .tick(2, 2..3, |cpu| &machine.ticks[cpu], |_| 0, RATE);
            assert_eq!(alone, None);
        }
    }

    #[test]
    fn nobody_is_judged_before_it_is_on() {
        let machine = Machine {
            watchdog: Watchdog::new(),
            ..Machine::new()
        };
        machine.tick(1);
        for _ in 0..20 * RATE {
            assert_eq!(machine.tick(0), None);
        }
    }
}
