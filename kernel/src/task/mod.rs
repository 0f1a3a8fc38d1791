//! Kernel threads: each with a stack of its own, one at a time on a processor.
//!
//! They are statics, and what is known of them lies in atomic words, so that a report can read all of it at any time
//! without a lock.

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
pub use schedule::{end_slice, give_way, is_slice_over, preempt, sleep, wait_for_lock};

/// Most tasks at a time that can be started.
pub const STARTABLE: usize = 16;
/// Most tasks at a time, those of the processors themselves included.
pub const MOST: usize = cpus::MOST + STARTABLE;

/// A thread of the kernel. A debugger finds its first words without being told: what it does, and where it stopped.
#[repr(C)]
#[derive(Debug)]
pub struct Task {
    state: AtomicState,
    /// Its stack pointer while it does not run, with a [`Context`] there; 0 while it runs.
    context: AtomicU64,
    name: Name,
    /// The lock that it is waiting for.
    wants: AtomicLock,
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

/// Names of the processors' tasks.
const NAMES: [&str; cpus::MOST] = [
    "main", "main1", "main2", "main3", "main4", "main5", "main6", "main7",
];

/// All of them. The first are those of the processors: what each does from its entry on. They run on its boot stack, and
/// nowhere else.
pub static TASKS: [Task; MOST] = {
    let mut tasks = [const { Task::new("", State::Free) }; MOST];
    let mut cpu = 0;
    while cpu < cpus::MOST {
        tasks[cpu] = Task::new(NAMES[cpu], State::Runs(cpu));
        cpu += 1;
    }
    tasks
};

/// The type of the tasks' stacks.
type TaskStack = Stack<{ 32 * 1024 }>;

/// Those of the tasks that are no processor's, in their order.
pub static STACKS: [TaskStack; STARTABLE] = [const { Stack::new() }; STARTABLE];

/// The tasks that run, by processor.
static CURRENT: [AtomicUsize; cpus::MOST] = {
    let mut current = [const { AtomicUsize::new(0) }; cpus::MOST];
    let mut cpu = 0;
    while cpu < cpus::MOST {
        current[cpu] = AtomicUsize::new(cpu);
        cpu += 1;
    }
    current
};

/// The number of the task that runs on this processor.
pub fn current() -> usize {
    // Not to be interrupted in between, and go on elsewhere.
    let _masked = Masked::new();
    CURRENT[cpus::this()].load(Ordering::Relaxed)
}

/// The number of the task that runs on this processor.
pub fn on(cpu: usize) -> usize {
    CURRENT[cpu].load(Ordering::Relaxed)
}

/// The task with this number.
///
/// # Panics
/// There is none; numbers come from here.
pub fn get(number: usize) -> &'static Task {
    &TASKS[number]
}

/// The stack with this index, of those of the tasks that are no processor's.
pub fn stack(index: usize) -> Option<postmortem::Stack> {
    let stack = STACKS.get(index)?;
    Some(stack.task_extent(cpus::MOST + index))
}

/// How many tasks wait for something else than their turn.
pub fn waiting() -> usize {
    let waits = |task: &&Task| {
        let state = task.state.load();
        matches!(state, State::Sleeps(_) | State::Joins(_) | State::Locks)
    };
    TASKS.iter().filter(waits).count()
}

/// A task that was started, and can be waited for.
#[derive(Debug)]
#[must_use = "a task that nobody waits for keeps its place"]
pub struct Handle(usize);

/// Starts a task, which calls `entry` with `argument`, and ends when that returns.
///
/// # Panics
/// There are too many already.
#[track_caller]
pub fn spawn(name: &str, entry: Entry, argument: usize) -> Handle {
    // Nobody takes a place twice: whoever comes first makes it one of an ended task that nobody waits for.
    let free =
        (cpus::MOST..MOST).find(|number| TASKS[*number].state.exchange(State::Free, State::Ended));
    let Some(number) = free else {
        panic!("no place for task {name}: there are {STARTABLE} already");
    };
    let task = &TASKS[number];
    task.name.set(name);
    // SAFETY: nobody runs on this stack: its task had ended, and somebody had waited for that.
    let context = unsafe { STACKS[number - cpus::MOST].put(Context::new(main, entry, argument)) };
    task.context.store(context, Ordering::Relaxed);
    task.state.store(State::Ready);
    // From the second on, tasks take turns.
    timer::start();
    Handle(number)
}

impl Handle {
    /// Whether the task has ended.
    pub fn has_ended(&self) -> bool {
        TASKS[self.0].state.load() == State::Ended
    }

    /// Waits until the task has ended.
    pub fn join(self) {
        let task = &TASKS[self.0];
        while task.state.load() != State::Ended {
            schedule::leave(State::Joins(self.0));
        }
        task.state.store(State::Free);
    }
}

/// Where every task begins: called by `task_begin` of `switch.s`.
#[allow(
    improper_ctypes_definitions,
    reason = "the pointer goes through a register, from one place of this kernel to another"
)]
pub extern "C" fn main(entry: Entry, argument: usize) -> ! {
    schedule::arrived();
    entry(argument);
    schedule::leave(State::Ended);
    unreachable!("a task that has ended runs again");
}
