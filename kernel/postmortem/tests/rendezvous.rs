//! The protocol of the rendezvous, with every order of its loads and stores that the memory model allows: checked by `loom`.
//!
//! What the CPUs show is a cell that `loom` watches: it fails when the holder reads it while its owner may write to it.

#![allow(missing_docs)]

#[path = "../src/rendezvous.rs"]
#[allow(dead_code, clippy::missing_docs_in_private_items)]
mod rendezvous;

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
    pub(crate) use loom::thread::yield_now as spin_loop;
}

use std::ptr::{NonNull, null_mut};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use loom::thread;
use rendezvous::{Rendezvous, Shown, Side};

const CPUS: usize = 3;

struct Machine {
    rendezvous: Rendezvous,
    sides: [Side; CPUS],
    /// Written by whoever holds the others, so that two at a time would be found.
    turn: UnsafeCell<u64>,
}

impl Machine {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            rendezvous: Rendezvous {
                held: AtomicUsize::new(0),
            },
            sides: std::array::from_fn(|_| Side {
                is_asked: AtomicBool::new(false),
                stopped: AtomicPtr::new(null_mut()),
                waits_for: AtomicUsize::new(0),
                failed: AtomicPtr::new(null_mut()),
                depth: AtomicUsize::new(0),
            }),
            turn: UnsafeCell::new(0),
        })
    }

    /// What a CPU does in the handler of an NMI: shows a cell of its own, and writes to it before and after.
    fn answer(&self, cpu: usize) {
        let frame = UnsafeCell::new(0_u64);
        write(&frame, 1);
        self.rendezvous
            .answer(&self.sides[cpu], NonNull::from(&frame).cast(), || ());
        write(&frame, 2);
    }

    /// What a CPU does that has met an error: waits for its turn, reads what the others show, lets go.
    fn fail(&self, cpu: usize) {
        let cause = UnsafeCell::new(0_u64);
        write(&cause, 1);
        let side = &self.sides[cpu];
        self.rendezvous
            .hold_for(cpu, side, NonNull::from(&cause).cast(), || ());
        write(&cause, 2);
        self.look(cpu);
        self.rendezvous.release(cpu, side);
        write(&cause, 3);
    }

    /// Reads what the others show, as the CPU that holds them.
    fn look(&self, cpu: usize) {
        write(&self.turn, 0);
        for other in (0..CPUS).filter(|other| *other != cpu) {
            match self.rendezvous.shown(&self.sides[other]) {
                Shown::Silent => {}
                Shown::Stopped(cell) | Shown::Failed(cell) => {
                    let value = read(cell);
                    // Something else may run meanwhile: what is shown stays.
                    thread::yield_now();
                    assert_eq!([value, read(cell)], [1, 1]);
                }
            }
        }
        write(&self.turn, 0);
    }
}

fn write(cell: &UnsafeCell<u64>, value: u64) {
    // SAFETY: loom fails if another thread reads at the same time.
    cell.with_mut(|cell| unsafe { *cell = value });
}

fn read(cell: NonNull<()>) -> u64 {
    // SAFETY: that it is still there is what the protocol promises; a cell that is gone makes loom fail too.
    let cell = unsafe { cell.cast::<UnsafeCell<u64>>().as_ref() };
    // SAFETY: loom fails if another thread writes at the same time.
    cell.with(|cell| unsafe { *cell })
}

/// Checks every order with at most so many switches between threads that are not forced.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn a_holder_reads_only_what_stands_still() {
    check(4, || {
        let machine = Machine::new();
        let other = machine.clone();
        let other = thread::spawn(move || other.answer(1));
        machine.fail(0);
        other.join().expect("the other CPU");
    });
}

#[test]
fn a_cpu_that_answered_one_holder_is_not_taken_to_have_answered_the_next() {
    check(4, || {
        let machine = Machine::new();
        let other = machine.clone();
        let other = thread::spawn(move || other.answer(1));
        machine.fail(0);
        machine.fail(0);
        other.join().expect("the other CPU");
    });
}

#[test]
fn two_that_fail_take_turns() {
    check(4, || {
        let machine = Machine::new();
        let other = machine.clone();
        let other = thread::spawn(move || other.fail(1));
        machine.fail(0);
        other.join().expect("the other CPU");
    });
}

/// With one switch only: two CPUs that spin while the third one stands still make endless models otherwise.
#[test]
fn two_that_fail_and_one_that_answers_do_not_read_what_moves() {
    check(1, || {
        let machine = Machine::new();
        let others = [1, 2].map(|cpu| {
            let other = machine.clone();
            thread::spawn(move || match cpu {
                1 => other.fail(1),
                _ => other.answer(2),
            })
        });
        machine.fail(0);
        for other in others {
            other.join().expect("another CPU");
        }
    });
}

#[test]
fn a_report_in_a_report_does_not_let_go() {
    check(4, || {
        let machine = Machine::new();
        let other = machine.clone();
        let other = thread::spawn(move || other.answer(1));
        let side = &machine.sides[0];
        assert!(machine.rendezvous.hold(0, side));
        assert!(machine.rendezvous.hold(0, side));
        machine.rendezvous.release(0, side);
        assert!(machine.rendezvous.is_held_by(0));
        machine.look(0);
        machine.rendezvous.release(0, side);
        assert!(!machine.rendezvous.is_held_by(0));
        other.join().expect("the other CPU");
    });
}

/// The taker is to be the holder whether it comes before the release, in it, or after it.
#[test]
fn a_holder_whose_place_was_taken_releases_nobody() {
    check(4, || {
        let machine = Machine::new();
        assert!(machine.rendezvous.hold(0, &machine.sides[0]));
        let taker = machine.clone();
        let taker = thread::spawn(move || {
            while !taker.rendezvous.take(1, &taker.sides[1]) {
                thread::yield_now();
            }
        });
        machine.rendezvous.release(0, &machine.sides[0]);
        taker.join().expect("the other CPU");
        assert!(machine.rendezvous.is_held_by(1));
        assert!(!machine.rendezvous.hold(0, &machine.sides[0]));
    });
}
