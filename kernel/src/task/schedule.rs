//! Which task runs next: each in its turn.

use core::mem;
use core::sync::atomic::{AtomicBool, Ordering};

use portable::task_state::State;
use spin::Mutex;

use super::{CURRENT, MOST, TASKS, current, on};
use crate::arch::cpu;
use crate::arch::switch::switch;
use crate::cpus;
use crate::interrupt::Masked;
use crate::timer;

/// Held while the tasks' states change, from before a switch to after it: so the stack of a task that waits is not used
/// by another processor before this one has left it. Interrupts are masked all the while.
static TURN: Mutex<()> = Mutex::new(());

/// Lets other tasks run, if there are any that can.
pub fn give_way() {
    leave(State::Ready);
}

/// Lets other tasks run for so many ticks of the [`timer`], and then until it is the current one's turn.
pub fn sleep(ticks: u64) {
    timer::start();
    leave(State::Sleeps(timer::now() + ticks));
}

/// Processors whose current task has had its time. Its turn ends at the end of the interrupt that says so.
static IS_OVER: [AtomicBool; cpus::MOST] = [const { AtomicBool::new(false) }; cpus::MOST];

/// Ends the turn of this processor's task, at the end of the interrupt that is being handled.
pub fn end_slice() {
    IS_OVER[cpus::this()].store(true, Ordering::Relaxed);
}

/// Whether the turn of this processor's task is over. It is not while that waits for something, even where it is the one
/// that waits for interrupts.
pub fn is_slice_over() -> bool {
    let cpu = cpus::this();
    IS_OVER[cpu].load(Ordering::Relaxed) && matches!(TASKS[on(cpu)].state.load(), State::Runs(_))
}

/// Called at the end of an interrupt, on the stack of what was interrupted: lets other tasks run, if this one's turn is over.
pub fn preempt() {
    if is_slice_over() {
        give_way();
    }
}

/// Lets other tasks run while the current one waits for the lock that it wants. Where it must not, in a handler for
/// instance, there is nothing to do but to try again.
pub fn wait_for_lock() {
    if cpu::interrupts_are_masked() {
        core::hint::spin_loop();
    } else {
        leave(State::Locks);
    }
}

/// Puts the current task into this state and runs others. Returns when it is this one's turn again.
pub(super) fn leave(state: State) {
    let _masked = Masked::new();
    let this = current();
    begin_turn();
    IS_OVER[cpus::this()].store(false, Ordering::Relaxed);
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
                go_on(this, next, cpu);
            }
            // The processor's own task is the one that waits for an interrupt, whatever else it is waiting for.
            None if this != own => go_on(this, own, cpu),
            None => {
                end_turn();
                cpu::wait();
                begin_turn();
            }
        }
        if matches!(TASKS[this].state.load(), State::Runs(_)) {
            break;
        }
    }
    end_turn();
}

/// Switches from the task `this`, which runs on this processor, to `next`, which does not run. Returns when somebody
/// switches back.
fn go_on(this: usize, next: usize, cpu: usize) {
    CURRENT[cpu].store(next, Ordering::Relaxed);
    let context = TASKS[next].context.swap(0, Ordering::Relaxed);
    // SAFETY: it does not run, and so there is its context. Interrupts are masked.
    unsafe { switch(TASKS[this].context.as_ptr(), context) };
}

/// A new task has its first turn.
pub(super) fn arrived() {
    end_turn();
    cpu::unmask_interrupts();
}

/// Interrupts are masked.
fn begin_turn() {
    mem::forget(TURN.lock());
}

fn end_turn() {
    // SAFETY: `begin_turn` took the lock and forgot it: for the current task, or for the one that switched to it.
    unsafe { TURN.force_unlock() };
}

/// The next task that can run on this processor, `this` the last of all.
fn next(this: usize, cpu: usize) -> Option<usize> {
    // Those of other processors stay where they are.
    let mut here = (this + 1..MOST)
        .chain(0..=this)
        .filter(|number| *number >= cpus::MOST || *number == cpu);
    here.find(|number| can_run(*number))
}

/// Whether it could be this task's turn.
fn can_run(number: usize) -> bool {
    let task = &TASKS[number];
    match task.state.load() {
        State::Free | State::Runs(_) | State::Ended => false,
        State::Ready => true,
        State::Sleeps(tick) => tick <= timer::now(),
        State::Joins(other) => TASKS[other].state.load() == State::Ended,
        State::Locks => task.wants().is_none_or(|lock| lock.holder().is_none()),
    }
}
