//! The protocol of CPUs that halt, with every order of its loads and stores that the memory model allows: checked by `loom`.
//!
//! What a CPU leaves is a cell that `loom` watches: it fails when another reads it while its owner may write to it.

#![allow(missing_docs)]

#[path = "../src/print/halted.rs"]
#[allow(dead_code, clippy::missing_docs_in_private_items)]
mod halted;

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
}

use std::ptr::null_mut;

use halted::{Halted, Note};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, AtomicUsize};
use loom::thread;

type Cpus = Halted<UnsafeCell<u32>>;

fn cpus() -> Arc<Cpus> {
    Arc::new(Halted {
        by: AtomicUsize::new(0),
        last: AtomicPtr::new(null_mut()),
    })
}

fn write(cell: &UnsafeCell<u32>, value: u32) {
    // SAFETY: loom fails if another thread uses it at the same time.
    cell.with_mut(|cell| unsafe { *cell = value });
}

/// What a CPU does when it is interrupted. Returns whether it has halted. Its note is what it leaves when it does.
fn interrupted(cpus: &Cpus, cpu: u32, note: *mut Note<UnsafeCell<u32>>) -> bool {
    let is_asked = cpus.is_asked(cpu);
    if is_asked {
        // SAFETY: only this thread knows it so far.
        write(unsafe { &(*note).of }, cpu * 10);
        // SAFETY: it stays until all threads have ended.
        unsafe { cpus.add(note) };
    }
    is_asked
}

/// The numbers and cells of the notes.
fn found(cpus: &Cpus) -> Vec<(u32, u32)> {
    // SAFETY: they stay until all threads have ended.
    let notes = unsafe { cpus.notes() };
    let mut found: Vec<_> = notes
        // SAFETY: loom fails if another thread writes to it at the same time.
        .map(|note| (note.cpu, note.of.with(|cell| unsafe { *cell })))
        .collect();
    found.sort_unstable();
    found
}

/// A note for each of some CPUs, which are dropped behind the threads.
fn notes(count: u32) -> Vec<usize> {
    let note = |cpu| Box::into_raw(Box::new(Note::new(cpu, UnsafeCell::new(0)))) as usize;
    (0..count).map(note).collect()
}

fn drop_all(notes: Vec<usize>) {
    for note in notes {
        // SAFETY: `notes` has made it, and all threads have ended.
        drop(unsafe { Box::from_raw(note as *mut Note<UnsafeCell<u32>>) });
    }
}

#[test]
fn what_is_found_is_whole_and_all_is_found() {
    loom::model(|| {
        let cpus = cpus();
        let notes = notes(3);
        let threads = [1, 2].map(|cpu: u32| {
            let (cpus, note) = (cpus.clone(), notes[cpu as usize]);
            thread::spawn(move || interrupted(&cpus, cpu, note as *mut _))
        });
        assert!(cpus.ask(0));
        for (cpu, value) in found(&cpus) {
            assert_eq!(value, cpu * 10);
        }
        let halted = threads.map(|thread| thread.join().expect("another CPU"));
        let expected: Vec<_> = (1..).zip(halted).filter(|(_, halted)| *halted).collect();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(cpu, _)| (cpu, cpu * 10))
            .collect();
        assert_eq!(found(&cpus), expected);
        drop_all(notes);
    });
}

#[test]
fn of_two_that_ask_one_halts() {
    loom::model(|| {
        let cpus = cpus();
        let notes = notes(2);
        let fail = |cpus: &Cpus, cpu: u32, note: usize| {
            let is_first = cpus.ask(cpu);
            assert_eq!(interrupted(cpus, cpu, note as *mut _), !is_first);
            is_first
        };
        let (other, note) = (cpus.clone(), notes[1]);
        let thread = thread::spawn(move || fail(&other, 1, note));
        let is_first = fail(&cpus, 0, notes[0]);
        let other_is_first = thread.join().expect("the other CPU");
        assert_ne!(is_first, other_is_first);
        let expected = if is_first { (1, 10) } else { (0, 0) };
        assert_eq!(found(&cpus), [expected]);
        drop_all(notes);
    });
}
