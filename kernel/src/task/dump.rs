//! What every task does: its state, and its callers from where it stopped.

use core::fmt::{self, Write};
use core::sync::atomic::Ordering;

use super::state::State;
use super::{MOST, Task, current, get};
use crate::arch::registers::capture;
use crate::arch::switch;
use crate::console::Console;
use crate::cpus;
use crate::lock;
use crate::report;
use crate::timer;

/// Writes a report of every task.
pub fn dump(console: &mut Console) -> fmt::Result {
    let tasks = || (0..MOST).filter(|number| get(*number).state.load() != State::Free);
    writeln!(console, "{} tasks", tasks().count())?;
    for task in tasks() {
        write!(console, "{}", get(task))?;
        if task == current() {
            console.write_str(", this one\n")?;
            report::callers(console, cpus::this(), capture())?;
        } else {
            console.write_str("\n")?;
            write_callers(console, task)?;
        }
    }
    Ok(())
}

/// Writes a report of every task that keeps the current one waiting.
pub fn write_holders(console: &mut Console) -> fmt::Result {
    let this = current();
    let holders = lock::chain(this).filter_map(|(_, lock)| lock.holder());
    for holder in holders.take_while(|holder| *holder != this) {
        writeln!(console, "{}", get(holder))?;
        write_callers(console, holder)?;
    }
    Ok(())
}

/// Writes the callers of a task that does not run; of others there is nothing to be known.
fn write_callers(console: &mut Console, number: usize) -> fmt::Result {
    let task = get(number);
    // Those of the processors have their processor's stack; the others have one that is of no processor.
    let cpu = number.min(cpus::MOST - 1);
    match (task.state.load(), task.context.load(Ordering::Acquire)) {
        (State::Ended, _) | (_, 0) => Ok(()),
        (_, sp) => report::callers(console, cpu, switch::registers(sp)),
    }
}

/// Its name, and what it does.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}: ", self.name)?;
        match self.state.load() {
            State::Free => f.write_str("there is none"),
            State::Runs(cpu) => write!(f, "runs on cpu {cpu}"),
            State::Ready => f.write_str("ready to run"),
            State::Sleeps(tick) => {
                let ticks = tick.saturating_sub(timer::now());
                let ms = ticks * 1000 / timer::TICKS_PER_SECOND;
                write!(f, "sleeps for {ms} ms")
            }
            State::Joins(task) => write!(f, "waits for task {} to end", get(task).name()),
            State::Locks => match self.wants() {
                Some(lock) => write!(f, "waits for {lock}"),
                None => f.write_str("waits for a lock"),
            },
            State::Ended => f.write_str("has ended"),
        }
    }
}
