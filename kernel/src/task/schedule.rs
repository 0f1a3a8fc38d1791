//! The scheduler: round robin, with time slices of one tick.

use core::mem;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use portable::task_state::State;
use spin::Mutex;

use super::{CURRENT, MAX_TASKS, TASKS, current, on};
use crate::arch::cpu;
use crate::arch::switch::switch;
use crate::cpus;
use crate::interrupt::Masked;
use crate::timer;

/// The scheduler's lock. It is held across a switch, so that no other CPU resumes a task before this one has left its stack.
/// Interrupts are masked while it is held.
static SCHEDULER: Mutex<()> = Mutex::new(());

/// The task to which each CPU switches.
static NEXT: [AtomicUsize; cpus::MAX_CPUS] = [const { AtomicUsize::new(0) }; cpus::MAX_CPUS];

/// What the own task of every CPU but the first does: calls the functions that the CPU is given, and otherwise lets tasks run.
pub fn work() -> ! {
    loop {
        cpus::call_job();
        leave(State::Idles);
    }
}

/// Yields: lets other tasks run, if any is ready.
pub fn give_way() {
    leave(State::Ready);
}

/// Lets other tasks run for at least so many ticks of the [`timer`].
pub fn sleep(ticks: u64) {
    timer::start();
    leave(State::Sleeps(timer::now().saturating_add(ticks)));
}

/// Whether the time slice of each CPU's current task is over. The task is preempted at the end of the interrupt that sets it.
static IS_SLICE_OVER: [AtomicBool; cpus::MAX_CPUS] =
    [const { AtomicBool::new(false) }; cpus::MAX_CPUS];

/// Ends the time slice of this CPU's task, which is preempted at the end of the current interrupt.
pub fn end_slice() {
    IS_SLICE_OVER[cpus::this()].store(true, Ordering::Relaxed);
}

/// Whether the time slice of this CPU's task is over. Never while that task waits, as a CPU's own task does when the CPU idles.
pub fn is_slice_over() -> bool {
    let cpu = cpus::this();
    IS_SLICE_OVER[cpu].load(Ordering::Relaxed)
        && matches!(TASKS[on(cpu)].state.load(), State::Runs(_))
}

/// Called at the end of an interrupt, on the interrupted stack: lets other tasks run, if the time slice is over.
pub fn preempt() {
    if is_slice_over() {
        give_way();
    }
}

/// Lets other tasks run until the lock that the current one waits for may be free. With interrupts masked, as in a handler, it
/// must not switch, and only spins.
pub fn wait_for_lock() {
    if cpu::interrupts_are_masked() {
        core::hint::spin_loop();
    } else {
        leave(State::Locks);
    }
}

/// Sets the current task's state and runs other tasks. Returns when the current one is scheduled again.
pub(super) fn leave(state: State) {
    let _masked = Masked::new();
    let this = current();
    lock_scheduler();
    IS_SLICE_OVER[cpus::this()].store(false, Ordering::Relaxed);
    TASKS[this].state.store(state);
    loop {
        let cpu = cpus::this();
        let own = cpu;
        match next(this, cpu) {
            Some(next) if next == this => {
                TASKS[this].state.store(State::Runs(cpu));
                break;
            }
            Some(next) => {
                TASKS[next].state.store(State::Runs(cpu));
                if next >= cpus::MAX_CPUS {
                    // Only a tick takes the CPU from it, for the next task or for a function that the CPU is given.
                    timer::start();
                }
                switch_to(this, next, cpu);
            }
            // The CPU's own task idles, whatever else it waits for.
            None if this != own => switch_to(this, own, cpu),
            None => {
                unlock_scheduler();
                // Nobody wakes this CPU when a task becomes ready, or its own one may go on.
                if state != State::Idles || has_tasks() {
                    timer::start();
                }
                cpu::wait();
                lock_scheduler();
            }
        }
        if matches!(TASKS[this].state.load(), State::Runs(_)) {
            break;
        }
    }
    unlock_scheduler();
}

/// Switches from the current task `this` to `next`, which does not run. Returns when `this` is resumed.
fn switch_to(this: usize, next: usize, cpu: usize) {
    NEXT[cpu].store(next, Ordering::Relaxed);
    if this != cpu {
        // A spawned task leaves its own stack. Until then a report that comes in between goes by that stack, because `next` is noted
        // with a context and so does not run yet. Noted afterwards, a task that has ended would seem to run on the stack of `next`.
        CURRENT[cpu].store(next, Ordering::Relaxed);
    }
    let context = TASKS[next].context.load(Ordering::Relaxed);
    // SAFETY: `next` does not run, so its context was stored by `switch` or is a new one. No other CPU resumes it, because this one
    // holds the scheduler's lock until `arrive` has cleared the context. Interrupts are masked.
    unsafe { switch(TASKS[this].context.as_ptr(), context) };
    arrive();
}

/// Notes that this CPU runs the task to which it has switched.
fn arrive() {
    let cpu = cpus::this();
    let this = NEXT[cpu].load(Ordering::Relaxed);
    CURRENT[cpu].store(this, Ordering::Relaxed);
    TASKS[this].context.store(0, Ordering::Release);
}

/// Called first by a new task: releases the scheduler, as the end of `leave` does for a resumed task.
pub(super) fn arrived() {
    arrive();
    unlock_scheduler();
    cpu::unmask_interrupts();
}

/// Whether this task has ended, and has left its stack: it holds the scheduler's lock until then.
pub(super) fn has_left(number: usize) -> bool {
    let _masked = Masked::new();
    let _scheduler = SCHEDULER.lock();
    TASKS[number].state.load() == State::Ended
}

/// Whether there are tasks that any CPU may run.
fn has_tasks() -> bool {
    let mut spawned = TASKS.iter().skip(cpus::MAX_CPUS);
    spawned.any(|task| task.state.load() != State::Free)
}

/// Called with interrupts masked.
fn lock_scheduler() {
    mem::forget(SCHEDULER.lock());
}

fn unlock_scheduler() {
    // SAFETY: this CPU holds the lock: `lock_scheduler` took it and forgot the guard, in this task or in the one that switched
    // to it.
    unsafe { SCHEDULER.force_unlock() };
}

/// The next task that can run on this CPU; `this` comes last.
fn next(this: usize, cpu: usize) -> Option<usize> {
    // The own tasks of other CPUs run only there.
    let mut here = (this + 1..MAX_TASKS)
        .chain(0..=this)
        .filter(|number| *number >= cpus::MAX_CPUS || *number == cpu);
    here.find(|number| can_run(*number))
}

/// Whether this task is ready to run.
fn can_run(number: usize) -> bool {
    let task = &TASKS[number];
    match task.state.load() {
        State::Free | State::Runs(_) | State::Ended => false,
        State::Ready => true,
        State::Idles => cpus::has_job(number),
        State::Sleeps(tick) => tick <= timer::now(),
        State::Joins(other) => TASKS[other].state.load() == State::Ended,
        State::Locks => task.wants().is_none_or(|lock| lock.holder().is_none()),
    }
}
