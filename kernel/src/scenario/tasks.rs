//! Several tasks, each stopped somewhere else, and a report of all of them.

use core::hint::black_box;

use crate::console::{self, println};
use crate::lock::Lock;
use crate::task::{self, give_way, spawn};

static DOOR: Lock<u32> = Lock::new("door", 0);

/// Starts them, reports them, waits for them.
pub fn run() {
    let guard = DOOR.lock();
    let waits = spawn("visitor", visitor, 3);
    let lazy = spawn("lazy", lazy, 0);
    let brief = spawn("brief", |_| (), 0);
    let parent = spawn("parent", parent, 0);
    for _ in 0..3 {
        give_way();
    }
    // Has not run yet.
    let fresh = spawn("fresh", visitor, 1);
    // The console never fails.
    let _ = task::dump(&mut console::lock());
    drop(guard);
    for task in [waits, lazy, brief, parent, fresh] {
        task.join();
    }
    println!("{} visitors came, and all tasks have ended", *DOOR.lock());
}

/// Waits for a lock, some calls deep.
fn visitor(depth: usize) {
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

/// Lets others go first, below a closure.
fn lazy(_: usize) {
    let yields: &dyn Fn() = &|| {
        for _ in 0..10 {
            give_way();
            black_box(());
        }
    };
    black_box(yields)();
    black_box(());
}

/// Waits for a task of its own.
fn parent(_: usize) {
    let child = spawn("child", visitor, 2);
    child.join();
    black_box(());
}
