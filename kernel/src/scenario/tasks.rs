//! Several tasks in different states, and a report of all of them.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::bad;
use crate::console::{self, println};
use crate::interrupt::Masked;
use crate::lock::Lock;
use crate::platform;
use crate::task::{self, give_way, sleep, spawn};
use crate::timer::TICKS_PER_SECOND;

static DOOR: Lock<u32> = Lock::new("door", 0);

/// Whether the report is done.
static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Words of `bad_busy`: whether the busy task runs, and whether it shall end.
static BUSY: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Spawns the tasks, reports them, and joins them.
pub fn run() {
    let guard = DOOR.lock();
    let visitor = spawn("visitor", visit, 3);
    let sleeper = spawn("sleeper", rest, 1);
    let brief = spawn("brief", |_| (), 0);
    let parent = spawn("parent", bring_up, 0);
    let busy = spawn("busy", work, 0);
    let fresh = loop {
        let _masked = Masked::new();
        // Visitor, sleeper, parent, and the parent's child.
        let all_are_there = task::waiting() == 4 && BUSY[0].load(Ordering::Acquire) != 0;
        if all_are_there && brief.has_ended() {
            // With one CPU it does not run before the report, because interrupts are masked.
            let fresh = spawn("fresh", visit, 1);
            // The console never fails.
            let _ = platform::write_tasks(&mut *console::lock());
            break fresh;
        }
        give_way();
    };
    IS_DONE.store(true, Ordering::Release);
    BUSY[1].store(1, Ordering::Release);
    drop(guard);
    for task in [visitor, sleeper, brief, parent, busy, fresh] {
        task.join();
    }
    println!(
        "{count} spawned tasks took the lock `door`, and all spawned tasks have ended",
        count = *DOOR.lock()
    );
}

/// Waits for a lock, some calls deep.
fn visit(depth: usize) {
    black_box(enter(depth));
}

#[inline(never)]
fn enter(depth: usize) -> usize {
    if depth > 0 {
        return black_box(enter(depth - 1)) + 1;
    }
    let mut visitors = DOOR.lock();
    *visitors += 1;
    black_box(0)
}

/// Sleeps for so many seconds at a time, below a closure.
fn rest(seconds: usize) {
    let sleeps: &dyn Fn(u64) = &|ticks| {
        while !IS_DONE.load(Ordering::Acquire) {
            sleep(ticks);
        }
    };
    black_box(sleeps)(seconds as u64 * TICKS_PER_SECOND);
    black_box(());
}

/// Spawns a task and joins it.
fn bring_up(_: usize) {
    let child = spawn("child", visit, 2);
    child.join();
    black_box(());
}

/// Never yields; the timer preempts it.
fn work(_: usize) {
    // SAFETY: the function accesses two words, which are atomics in a static.
    unsafe { bad::bad_busy(BUSY.as_ptr().cast_mut().cast()) };
    black_box(());
}
