//! Waits for what does not come, and handlers that do not come to an end.

use core::fmt;
use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicBool, Ordering};

use postmortem::TrapFrame;

use super::{announce, spin};
use crate::arch::user::user_call;
use crate::arch::{cpu, interrupts};
use crate::lock::Lock;
use crate::scenario::timer::stays;
use crate::task::{self, spawn};
use crate::{board, cpus, nmi, timer, user};

/// A device that never gets ready: the serial line, at which nobody types.
#[inline(never)]
pub fn device() {
    announce();
    while board::read().is_none() {
        spin_loop();
    }
}

/// The lock that one task holds, and another one wants for which that one waits.
static LEDGER: Lock<()> = Lock::new("ledger", ());

/// All tasks wait, and nobody notices: one holds a lock and waits for the end of a task that wants it.
#[inline(never)]
pub fn joins() {
    spawn("holder", hold_and_join, 0).join();
    black_box(());
}

fn hold_and_join(_: usize) {
    let _ledger = LEDGER.lock();
    let user = spawn("user", want, 0);
    announce();
    user.join();
    black_box(());
}

fn want(_: usize) {
    drop(LEDGER.lock());
    black_box(());
}

/// A task that sleeps for longer than anybody lives: somebody has added up its time wrongly.
#[inline(never)]
pub fn sleep() {
    spawn("sleeper", sleep_for_ever, 0).join();
    black_box(());
}

fn sleep_for_ever(_: usize) {
    announce();
    task::sleep(u64::MAX / 2);
    black_box(());
}

/// NMIs without end: the handler of each sends the next one.
#[inline(never)]
pub fn nmis() {
    nmi::handle_with(send_next);
    announce();
    interrupts::send_nmi(cpus::this());
    spin();
    black_box(());
}

fn send_next() {
    interrupts::send_nmi(cpus::this());
}

/// The handler of a timer interrupt that has interrupted the handler of another one.
#[inline(never)]
pub fn nested() {
    timer::handle_with(stay_in_second);
    timer::start();
    spin();
    black_box(());
}

#[inline(never)]
fn stay_in_second(frame: &mut TrapFrame) {
    // On a busy host a tick may come before the loop.
    if !stays(frame.pc()) {
        return;
    }
    static IS_SECOND: AtomicBool = AtomicBool::new(false);
    if IS_SECOND.swap(true, Ordering::Relaxed) {
        announce();
    } else {
        cpu::unmask_interrupts();
    }
    spin();
    black_box(());
}

/// Never comes to an end when it is shown.
struct Endless;

impl fmt::Display for Endless {
    #[inline(never)]
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        spin();
        black_box(Ok(()))
    }
}

/// A report that hangs: in the panic's message.
#[inline(never)]
pub fn message() {
    announce();
    panic!("this message contains a value whose formatting never returns: {Endless}");
}

/// A system call that does not return.
#[inline(never)]
pub fn system_call() {
    announce();
    user::handle_calls_with(stay_in_call);
    user::run(&raw const user_call);
}

#[inline(never)]
fn stay_in_call(_: &mut TrapFrame) {
    spin();
    black_box(());
}
