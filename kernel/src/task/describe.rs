//! Tasks as reports show them: state, and the registers where each stopped.

use core::fmt::{self, Display};
use core::sync::atomic::Ordering;

use portable::task_state::State;

use super::{Task, get};
use crate::arch::switch;
use crate::cpus;
use crate::timer;

/// The description of the task with this number, if there is one.
pub fn describe(number: usize) -> Option<postmortem::Task<'static>> {
    // A CPU that is not online has no task, unless it is this one, in an early report.
    let is_absent = number < cpus::MAX_CPUS && number != cpus::this() && !cpus::is_online(number);
    let task = get(number);
    let state = task.state.load();
    let registers = match (state, task.context.load(Ordering::Acquire)) {
        (State::Ended, _) | (_, 0) => None,
        (_, sp) => Some(switch::registers(sp)),
    };
    (state != State::Free && !is_absent).then_some(postmortem::Task {
        name: &task.name,
        state: task,
        waits_for: task.wants().map(|lock| lock as &dyn Display),
        blocked_by: task.wants().and_then(|lock| lock.holder()),
        registers,
        cpu: (number < cpus::MAX_CPUS).then_some(number),
    })
}

/// As text, its state.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state.load() {
            State::Free => f.write_str("there is none"),
            // Its CPU has not changed the stack yet.
            State::Runs(cpu) if self.context.load(Ordering::Acquire) != 0 => {
                write!(f, "about to run on cpu {cpu}")
            }
            State::Runs(cpu) => write!(f, "runs on cpu {cpu}"),
            State::Idles => f.write_str("has nothing to do"),
            State::Ready => f.write_str("ready to run"),
            State::Sleeps(tick) => {
                let ticks = tick.saturating_sub(timer::now());
                let ms = ticks * 1000 / timer::TICKS_PER_SECOND;
                write!(f, "sleeps for {ms} ms")
            }
            State::Joins(task) => {
                let name = get(task).name();
                write!(f, "waits for task {name} to end")
            }
            State::Locks => match self.wants() {
                Some(lock) => write!(f, "waits for {lock}"),
                None => f.write_str("waits for a lock"),
            },
            State::Ended => f.write_str("has ended"),
        }
    }
}
