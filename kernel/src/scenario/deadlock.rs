//! Deadlocks, and tasks that fail.

use core::hint::black_box;

use super::overflow::descend;
use crate::lock::Lock;
use crate::task::{self, give_way, spawn};

static LEFT: Lock<()> = Lock::new("left", ());
static RIGHT: Lock<()> = Lock::new("right", ());

/// Two tasks, each of which holds what the other waits for.
#[inline(never)]
pub fn two_tasks() {
    let first = spawn("first", take_left, 0);
    let second = spawn("second", take_right, 0);
    first.join();
    second.join();
    black_box(());
}

fn take_left(_: usize) {
    let _left = LEFT.lock();
    // Until the other task holds RIGHT.
    while task::waiting() < 1 || !RIGHT.is_held() {
        give_way();
    }
    black_box(wait_for(&RIGHT));
}

fn take_right(_: usize) {
    let _right = RIGHT.lock();
    // Until two tasks wait: the other one, and the task that joins both.
    while task::waiting() < 2 {
        give_way();
    }
    black_box(wait_for(&LEFT));
}

#[inline(never)]
fn wait_for(lock: &'static Lock<()>) -> u32 {
    let _guard = lock.lock();
    black_box(0)
}

/// A task takes a lock that it holds already.
#[inline(never)]
pub fn twice() {
    let _left = LEFT.lock();
    black_box(wait_for(&LEFT));
}

/// A panic in a task that another one joins.
#[inline(never)]
pub fn panic_in_task() {
    let task = spawn("unlucky", fail, 3);
    task.join();
    black_box(());
}

fn fail(at: usize) {
    black_box(index(black_box(&[1, 2, 3]), at));
}

#[inline(never)]
fn index(values: &[u8], index: usize) -> u8 {
    black_box(values[index])
}

/// A recursion fills the stack of a task.
#[inline(never)]
pub fn overflow() {
    let task = spawn("endless", fill, 0);
    task.join();
    black_box(());
}

fn fill(_: usize) {
    black_box(descend(black_box(0)));
}
