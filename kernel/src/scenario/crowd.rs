//! Tasks on every CPU at once, which come and go, and wait for each other, for time and for a lock: a target for interruptions while
//! tasks change CPUs.

use core::array;
use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::another;
use crate::bad;
use crate::console::{self, println};
use crate::cpus;
use crate::interrupt::Masked;
use crate::lock::Lock;
use crate::platform;
use crate::task::{give_way, sleep, spawn};

/// Tasks that each have one child at a time.
const PARENTS: usize = 6;
/// Children of each, unless the command line says otherwise.
const CHILDREN: u32 = 30;

/// A bit for each CPU that has run a task.
static HAVE_RUN: AtomicU64 = AtomicU64::new(0);
/// How many children there were.
static TALLY: Lock<u64> = Lock::new("tally", 0);

/// Spawns the parents, and joins them.
pub fn run() {
    println!("tasks run on all CPUs");
    let parents: [_; PARENTS] = array::from_fn(|number| spawn("parent", bring_up, number));
    for parent in parents {
        parent.join();
    }
    let ran = HAVE_RUN.load(Ordering::Relaxed).count_ones();
    println!(
        "{count} child tasks ended, and {ran} CPUs ran tasks",
        count = *TALLY.lock()
    );
}

/// Has one child after another; then waits until every CPU has run some task.
fn bring_up(number: usize) {
    let children = super::ARGUMENT.get().copied().unwrap_or(CHILDREN);
    for child in 0..children as usize {
        let child = spawn("child", grow_up, child.wrapping_mul(7).wrapping_add(number));
        recursion(number * 5);
        child.join();
    }
    // A busy host may have let too few CPUs run for each to have had a child.
    has_run();
    while (HAVE_RUN.load(Ordering::Relaxed).count_ones() as usize) < cpus::online().count() {
        give_way();
        has_run();
    }
}

/// Records that this CPU has run a task.
fn has_run() {
    let _masked = Masked::new();
    HAVE_RUN.fetch_or(1 << cpus::this(), Ordering::Relaxed);
}

fn grow_up(number: usize) {
    has_run();
    match number % 4 {
        0 => sleep(1),
        1 => give_way(),
        2 => recursion(number % 100),
        _ => {}
    }
    let mut tally = TALLY.lock();
    if number.is_multiple_of(3) {
        give_way();
    }
    *tally += 1;
}

#[inline(never)]
fn recursion(depth: usize) {
    if depth > 0 {
        recursion(black_box(depth - 1));
    }
    black_box(());
}

/// Words of `bad_busy`: whether the task runs, and whether it shall end.
static BUSY: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Whether the other CPU has called a function in between.
static IS_CALLED: AtomicBool = AtomicBool::new(false);

/// A task that only another CPU can run, because this one masks interrupts and does not give way. That CPU calls a function in
/// between, although the task never gives way; and a report of both.
#[inline(never)]
pub fn elsewhere() {
    let _masked = Masked::new();
    let busy = spawn("busy", work, 0);
    while BUSY[0].load(Ordering::Acquire) == 0 {
        spin_loop();
    }
    cpus::run_on(another(), || {
        // The task sets it again when it goes on.
        BUSY[0].store(0, Ordering::Relaxed);
        IS_CALLED.store(true, Ordering::Release);
    });
    while !IS_CALLED.load(Ordering::Acquire) || BUSY[0].load(Ordering::Acquire) == 0 {
        spin_loop();
    }
    // The console never fails.
    let _ = platform::write_tasks(&mut *console::lock());
    assert!(busy.has_ended(), "the task on another CPU has not ended");
}

fn work(_: usize) {
    // SAFETY: the function accesses two words, which are atomics in a static.
    unsafe { bad::bad_busy(BUSY.as_ptr().cast_mut().cast()) };
    black_box(());
}
