//! Scenarios that neither end nor say anything more: somebody outside has to ask where every CPU is.

pub mod locks;
pub mod lost;
pub mod waits;

use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use postmortem::TrapFrame;
use spin::Mutex;

use crate::arch::{cpu, exit, interrupts};
use crate::bad;
use crate::console::println;
use crate::lock::Lock;
use crate::scenario::timer::stays;
use crate::task::{self, give_way, spawn};
use crate::{breakpoint, cpus, interrupt, nmi, timer};

/// The last line of each of them.
fn announce() {
    println!("the scenario prints nothing after this line");
}

/// Loops in one instruction.
#[inline(never)]
fn spin() {
    bad::stay();
    black_box(());
}

/// A loop with interrupts masked.
#[inline(never)]
pub fn masked() {
    announce();
    cpu::mask_interrupts();
    spin();
    black_box(());
}

/// The same before the console, the page tables and the heap are set up.
#[inline(never)]
pub fn early() {
    spin();
    black_box(());
}

/// The same below a recursion.
#[inline(never)]
pub fn deep() {
    announce();
    black_box(descend(black_box(100)));
}

#[inline(never)]
fn descend(calls: u32) -> u32 {
    match calls {
        0 => spin(),
        _ => drop(black_box(descend(black_box(calls - 1)))),
    }
    black_box(calls)
}

/// Nothing to run: every CPU waits for an interrupt that does not come.
#[inline(never)]
pub fn idle() {
    announce();
    cpu::mask_interrupts();
    loop {
        cpu::wait();
    }
}

/// Locks that know nothing of who holds them.
static LEFT: Mutex<()> = Mutex::new(());
static RIGHT: Mutex<()> = Mutex::new(());

/// How many CPUs have come to where they stay.
static THERE: AtomicU32 = AtomicU32::new(0);

fn wait_for(count: u32) {
    while THERE.load(Ordering::Acquire) < count {
        spin_loop();
    }
}

/// Two CPUs, each of which waits for what the other one holds.
#[inline(never)]
pub fn two_locks() {
    cpus::run_on(super::another(), right_then_left);
    left_then_right();
    black_box(());
}

#[inline(never)]
fn left_then_right() {
    let _left = LEFT.lock();
    THERE.fetch_add(1, Ordering::AcqRel);
    wait_for(2);
    announce();
    drop(RIGHT.lock());
}

#[inline(never)]
fn right_then_left() {
    let _right = RIGHT.lock();
    THERE.fetch_add(1, Ordering::AcqRel);
    wait_for(2);
    drop(LEFT.lock());
}

/// A lock whose holder has stopped for ever.
#[inline(never)]
pub fn stopped_holder() {
    cpus::run_on(super::another(), hold_and_stop);
    wait_for(1);
    announce();
    drop(LEFT.lock());
}

#[inline(never)]
fn hold_and_stop() {
    let _left = LEFT.lock();
    THERE.fetch_add(1, Ordering::AcqRel);
    cpu::halt();
}

/// The handler of a timer interrupt that does not return.
#[inline(never)]
pub fn in_interrupt() {
    timer::handle_with(stay_in_tick);
    timer::start();
    spin();
    black_box(());
}

#[inline(never)]
fn stay_in_tick(frame: &mut TrapFrame) {
    // On a busy host a tick may come before the loop.
    if !stays(frame.pc()) {
        return;
    }
    announce();
    spin();
    black_box(());
}

/// The handler of an NMI on another CPU that does not return.
#[inline(never)]
pub fn in_nmi() {
    nmi::handle_with(stay_in_nmi);
    let other = super::another();
    cpus::run_on(other, until_nmi);
    wait_for(1);
    interrupts::send_nmi(other);
    wait_for(2);
    announce();
    spin();
    black_box(());
}

/// What the NMI interrupts.
#[inline(never)]
fn until_nmi() {
    THERE.fetch_add(1, Ordering::AcqRel);
    while THERE.load(Ordering::Acquire) != 0 {
        spin_loop();
    }
    black_box(());
}

#[inline(never)]
fn stay_in_nmi() {
    THERE.fetch_add(1, Ordering::AcqRel);
    spin();
    black_box(());
}

static LEDGER: Lock<()> = Lock::new("ledger", ());

/// A task loops with a lock held that another one waits for, while a third one waits for both to end.
#[inline(never)]
pub fn tasks() {
    let worker = spawn("worker", work, 0);
    let waiter = spawn("waiter", wait_for_ledger, 0);
    worker.join();
    waiter.join();
    black_box(());
}

fn work(_: usize) {
    let _ledger = LEDGER.lock();
    while task::waiting() < 2 {
        give_way();
    }
    announce();
    cpu::mask_interrupts();
    spin();
    black_box(());
}

fn wait_for_ledger(_: usize) {
    // The timer may let this task run first.
    while !LEDGER.is_held() {
        give_way();
    }
    drop(LEDGER.lock());
    black_box(());
}

/// Exceptions without end, each of which is handled.
#[inline(never)]
pub fn exceptions() {
    breakpoint::handle_with(|| black_box(()));
    announce();
    loop {
        bad::breakpoint();
    }
}

/// Interrupts without end: the handler of each sends the next one.
#[inline(never)]
pub fn storm() {
    interrupt::handle_with(interrupts::WAKE, send_again);
    announce();
    interrupts::wake(cpus::this());
    spin();
    black_box(());
}

fn send_again(_: &mut TrapFrame) {
    interrupts::wake(cpus::this());
}

/// Which of the two tasks wants to go on.
static WANTS: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

/// Two tasks, each of which lets the other one go first: both run, and neither gets on.
#[inline(never)]
pub fn livelock() {
    announce();
    let first = spawn("first", let_go_first, 0);
    let second = spawn("second", let_go_first, 1);
    first.join();
    second.join();
    black_box(());
}

fn let_go_first(number: usize) {
    let [first, second] = &WANTS;
    let (own, other) = if number == 0 {
        (first, second)
    } else {
        (second, first)
    };
    own.store(true, Ordering::Relaxed);
    THERE.fetch_add(1, Ordering::AcqRel);
    // One of them begins before the other one wants anything.
    while THERE.load(Ordering::Acquire) < 2 || other.load(Ordering::Relaxed) {
        give_way();
    }
    own.store(false, Ordering::Relaxed);
}

/// An exception without a vector: a triple fault on x86-64, exceptions at the vector without end on AArch64.
#[inline(never)]
pub fn no_vectors() {
    announce();
    cpu::mask_interrupts();
    // SAFETY: nothing of this program goes on.
    unsafe { bad::forget_vectors() };
    bad::undefined();
    black_box(());
}

/// The machine resets itself.
#[inline(never)]
pub fn reset() {
    announce();
    exit::reset();
}
