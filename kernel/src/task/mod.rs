//! Tasks: kernel threads, each with its own stack, preempted by the timer.
//!
//! Tasks are statics whose state is in atomic words, so that a report can read it at any time without a lock.

mod describe;
mod lock_info;
mod schedule;

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use portable::name::Name;
use portable::task_state::{AtomicState, State};

use crate::arch::switch::Context;
use crate::cpus;
use crate::interrupt::Masked;
use crate::stack::Stack;
use crate::timer;
use lock_info::AtomicLock;

pub use crate::arch::switch::Entry;
pub use describe::describe;
pub use lock_info::LockInfo;
pub use schedule::{end_slice, give_way, is_slice_over, preempt, sleep, wait_for_lock, work};

/// The greatest number of spawned tasks at a time.
pub const MAX_SPAWNED: usize = 16;
/// The greatest number of tasks at a time: one of each CPU, and spawned ones.
pub const MAX_TASKS: usize = cpus::MAX_CPUS + MAX_SPAWNED;

/// A task. Whoever looks from outside reads its words, as `symbols.rs` describes them.
#[repr(C)]
#[derive(Debug)]
pub struct Task {
    state: AtomicState,
    /// While it does not run, its stack pointer, which points to a [`Context`]; 0 while it runs. It is set before the task leaves its
    /// stack, and cleared after it has come back, so that a report always finds the task's callers: in between
    /// it is out of date.
    context: AtomicU64,
    name: Name,
    /// The lock that it is waiting for.
    pub(crate) wants: AtomicLock,
}

impl Task {
    const fn new(name: &str, state: State) -> Self {
        Self {
            name: Name::new(name),
            state: AtomicState::new(state),
            context: AtomicU64::new(0),
            wants: AtomicLock::none(),
        }
    }

    /// Its name, of at most 15 bytes.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The lock that it is waiting for.
    pub fn wants(&self) -> Option<&'static LockInfo> {
        self.wants.load()
    }

    /// Notes that it is waiting for a lock, or not.
    pub fn want(&self, lock: Option<&'static LockInfo>) {
        self.wants.store(lock);
    }
}

/// The names of the CPUs' tasks.
const NAMES: [&str; cpus::MAX_CPUS] = [
    "main", "main1", "main2", "main3", "main4", "main5", "main6", "main7",
];

/// All tasks, by number. The first are the CPUs' own: each runs on its CPU's boot stack, from the kernel's entry on, and only
/// on that CPU.
pub static TASKS: [Task; MAX_TASKS] = {
    let mut tasks = [const { Task::new("", State::Free) }; MAX_TASKS];
    let mut cpu = 0;
    while cpu < cpus::MAX_CPUS {
        tasks[cpu] = Task::new(NAMES[cpu], State::Runs(cpu));
        cpu += 1;
    }
    tasks
};

/// The type of a spawned task's stack.
type TaskStack = Stack<{ 32 * 1024 }>;

/// The stacks of spawned tasks, by task number minus `MAX_CPUS`.
pub static STACKS: [TaskStack; MAX_SPAWNED] = [const { Stack::new() }; MAX_SPAWNED];

/// The number of the task that runs on each CPU.
static CURRENT: [AtomicUsize; cpus::MAX_CPUS] = {
    let mut current = [const { AtomicUsize::new(0) }; cpus::MAX_CPUS];
    let mut cpu = 0;
    while cpu < cpus::MAX_CPUS {
        current[cpu] = AtomicUsize::new(cpu);
        cpu += 1;
    }
    current
};

/// The number of the current task.
pub fn current() -> usize {
    // Without an interrupt in between, after which this task may run on another CPU.
    let _masked = Masked::new();
    CURRENT[cpus::this()].load(Ordering::Relaxed)
}

/// The number of the task that runs on the CPU with this number.
pub fn on(cpu: usize) -> usize {
    CURRENT[cpu].load(Ordering::Relaxed)
}

/// The task with this number.
///
/// # Panics
/// There is no task with this number.
pub fn get(number: usize) -> &'static Task {
    &TASKS[number]
}

/// The stack of a spawned task, by index.
pub fn stack(index: usize) -> Option<postmortem::Stack> {
    let stack = STACKS.get(index)?;
    Some(stack.task_extent(cpus::MAX_CPUS + index))
}

/// How many tasks sleep, or wait for a task or a lock.
pub fn waiting() -> usize {
    let waits = |task: &&Task| {
        let state = task.state.load();
        matches!(state, State::Sleeps(_) | State::Joins(_) | State::Locks)
    };
    TASKS.iter().filter(waits).count()
}

/// A spawned task, which can be joined.
#[derive(Debug)]
#[must_use = "a task that is not joined keeps its slot forever"]
pub struct Handle(usize);

/// Spawns a task, which calls `entry` with `argument`, and ends when that returns.
///
/// # Panics
/// There are [`MAX_SPAWNED`] tasks already.
#[track_caller]
pub fn spawn(name: &str, entry: Entry, argument: usize) -> Handle {
    // Reserves a slot by compare-and-swap: it becomes that of an ended task that nobody joins.
    let free = (cpus::MAX_CPUS..MAX_TASKS)
        .find(|number| TASKS[*number].state.exchange(State::Free, State::Ended));
    let Some(number) = free else {
        panic!("cannot spawn task {name}: all {MAX_SPAWNED} task slots are in use");
    };
    let task = &TASKS[number];
    task.name.set(name);
    // SAFETY: the slot was free: its last task, if any, has ended and was joined, so its stack is not in use.
    let context =
        unsafe { STACKS[number - cpus::MAX_CPUS].put(Context::new(main, entry, argument)) };
    task.context.store(context, Ordering::Relaxed);
    task.state.store(State::Ready);
    // With a second task, the CPU needs ticks to end time slices.
    timer::start();
    cpus::wake_others();
    Handle(number)
}

impl Handle {
    /// Whether the task has ended.
    pub fn has_ended(&self) -> bool {
        TASKS[self.0].state.load() == State::Ended
    }

    /// Waits until the task has ended.
    pub fn join(self) {
        while !schedule::has_left(self.0) {
            schedule::leave(State::Joins(self.0));
        }
        TASKS[self.0].state.store(State::Free);
    }
}

/// The first function of every spawned task, called by `task_begin` of `switch.s`.
#[allow(
    improper_ctypes_definitions,
    reason = "a task argument is a pointer passed within this kernel"
)]
pub extern "C" fn main(entry: Entry, argument: usize) -> ! {
    schedule::arrived();
    entry(argument);
    schedule::leave(State::Ended);
    unreachable!("a task that had ended was scheduled again");
}
