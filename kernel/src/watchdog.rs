//! Starting the watchdog: CPUs watch each other's timers, and report a CPU that hangs.

use crate::platform::POSTMORTEM;
use crate::{cpus, timer};

/// Starts the timers of all CPUs that are idle, and watches them and this one.
pub fn start() {
    POSTMORTEM.start_watchdog();
    cpus::others().for_each(|cpu| cpus::run_on(cpu, timer::start));
    timer::start();
}
