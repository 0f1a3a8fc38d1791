//! The protocol of the two copies of a kernel's modules, with every order of its loads and stores that the memory model allows:
//! checked by `loom`.
//!
//! The copies are cells that `loom` watches: it fails when one is written to while somebody may read it.

#![allow(missing_docs)]

#[path = "../src/turns.rs"]
#[allow(clippy::missing_docs_in_private_items)]
mod turns;

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
}

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::thread;
use turns::Turns;

/// Memory of a module, and two copies of a list that has it or not.
struct List {
    turns: Turns,
    copies: [UnsafeCell<bool>; 2],
    module: UnsafeCell<u64>,
}

impl List {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            turns: Turns {
                state: AtomicUsize::new(0),
                is_changed: AtomicBool::new(false),
            },
            copies: [true, false].map(UnsafeCell::new),
            module: UnsafeCell::new(1),
        })
    }

    /// What a walk does, which may be an NMI's.
    fn read(&self) {
        let copy = self.turns.enter();
        // SAFETY: `loom` checks it.
        let is_there = self.copies[copy].with(|copy| unsafe { *copy });
        if is_there {
            // SAFETY: as above.
            let word = self.module.with(|module| unsafe { *module });
            assert_eq!(word, 1);
        }
        self.turns.leave();
    }

    /// Changes the list, if nobody reads.
    fn change(&self, to: bool) -> bool {
        if !self.turns.begin() {
            return false;
        }
        let shown = self.turns.shown();
        // SAFETY: as above.
        let was = self.copies[shown].with(|copy| unsafe { *copy });
        if was != to
            && let Some(unused) = self.turns.unused()
        {
            // SAFETY: as above.
            self.copies[unused].with_mut(|copy| unsafe { *copy = to });
            self.turns.show_other();
        }
        let shown = self.turns.shown();
        // SAFETY: as above.
        let is = self.copies[shown].with(|copy| unsafe { *copy });
        let is_done = is == to && self.turns.unused().is_some();
        self.turns.end();
        is_done
    }

    /// Removes the module, and takes its memory for something else, if nobody can read it any more.
    fn remove(&self) {
        if self.change(false) {
            // SAFETY: as above.
            self.module.with_mut(|module| unsafe { *module = 2 });
        }
    }
}

/// All orders in which a thread is interrupted up to three times: without a bound they take minutes, with the same result.
fn all_orders(model: impl Fn() + Sync + Send + 'static) {
    let mut orders = loom::model::Builder::new();
    orders.preemption_bound = Some(3);
    orders.check(model);
}

#[test]
fn what_is_removed_is_not_read() {
    all_orders(|| {
        let list = List::new();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let list = list.clone();
                thread::spawn(move || list.read())
            })
            .collect();
        list.remove();
        for reader in readers {
            reader.join().expect("a reader ends");
        }
        // Nobody is left to wait for.
        assert!(list.change(false));
    });
}

#[test]
fn copies_are_not_written_to_while_they_are_read() {
    all_orders(|| {
        let list = List::new();
        let reader = {
            let list = list.clone();
            thread::spawn(move || {
                list.read();
                list.read();
            })
        };
        // There and back: the second change writes to the copy that was shown first.
        for to in [false, true, false] {
            list.change(to);
        }
        reader.join().expect("a reader ends");
    });
}

#[test]
fn one_change_at_a_time() {
    loom::model(|| {
        let list = List::new();
        let other = {
            let list = list.clone();
            thread::spawn(move || list.change(false))
        };
        list.change(true);
        list.read();
        other.join().expect("a change ends");
    });
}
