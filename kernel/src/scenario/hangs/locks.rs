//! Locks that nobody gives back, and CPUs that wait for each other.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use postmortem::TrapFrame;
use spin::Mutex;

use super::{announce, spin};
use crate::arch::{cpu, interrupts};
use crate::scenario::another;
use crate::scenario::timer::stays;
use crate::{bad, cpus, interrupt, nmi, timer};

/// Knows nothing of who holds it.
static LOCK: Mutex<()> = Mutex::new(());

/// Set to 1 by a CPU that is in its loop.
static STAYS: AtomicU32 = AtomicU32::new(0);

/// Never set.
static NEVER: AtomicU32 = AtomicU32::new(0);

/// Loops in assembly, which sets [`STAYS`].
#[inline(never)]
fn stay() {
    // SAFETY: both words are atomics in statics.
    unsafe { bad::bad_loop(NEVER.as_ptr(), STAYS.as_ptr()) };
    core::hint::black_box(());
}

fn wait_until_it_stays() {
    while STAYS.load(Ordering::Acquire) == 0 {
        spin_loop();
    }
}

/// A CPU waits for a lock that it holds itself.
#[inline(never)]
pub fn twice() {
    let _held = LOCK.lock();
    announce();
    drop(LOCK.lock());
}

/// The handler of an interrupt wants the lock that the interrupted code holds.
#[inline(never)]
pub fn in_interrupt() {
    timer::handle_with(take_in_tick);
    let _held = LOCK.lock();
    timer::start();
    spin();
}

#[inline(never)]
fn take_in_tick(frame: &mut TrapFrame) {
    // On a busy host a tick may come before the loop.
    if !stays(frame.pc()) {
        return;
    }
    announce();
    drop(LOCK.lock());
}

/// The same in the handler of an NMI, on another CPU.
#[inline(never)]
pub fn in_nmi() {
    nmi::handle_with(take_in_nmi);
    let other = another();
    cpus::run_on(other, hold);
    wait_until_it_stays();
    interrupts::send_nmi(other);
    announce();
    spin();
    core::hint::black_box(());
}

#[inline(never)]
fn hold() {
    let _held = LOCK.lock();
    stay();
}

#[inline(never)]
fn take_in_nmi() {
    drop(LOCK.lock());
}

/// A CPU waits for an answer to an interrupt that another one has masked, as after a change of page tables.
#[inline(never)]
pub fn rendezvous() {
    static ANSWERS: AtomicU32 = AtomicU32::new(0);
    interrupt::handle_with(interrupts::WAKE, |_| {
        ANSWERS.fetch_add(1, Ordering::AcqRel);
    });
    let other = another();
    cpus::run_on(other, never_answer);
    wait_until_it_stays();
    ANSWERS.store(0, Ordering::Release);
    interrupts::wake(other);
    announce();
    while ANSWERS.load(Ordering::Acquire) == 0 {
        spin_loop();
    }
}

#[inline(never)]
fn never_answer() {
    cpu::mask_interrupts();
    stay();
    core::hint::black_box(());
}

/// Two CPUs, each of which lets the other one go first, for ever.
#[inline(never)]
pub fn after_you() {
    cpus::run_on(another(), let_go_first);
    announce();
    let_go_first();
    core::hint::black_box(());
}

#[inline(never)]
fn let_go_first() {
    /// Whose turn it is.
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let (this, other) = (cpus::this(), another());
    loop {
        if TURN.load(Ordering::Acquire) == this {
            TURN.store(other, Ordering::Release);
        }
        spin_loop();
    }
}
