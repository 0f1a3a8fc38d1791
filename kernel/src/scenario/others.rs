//! Scenarios with several CPUs, one of which fails, hangs or is interrupted.

use core::fmt;
use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::another;
use crate::arch::{cpu, interrupts};
use crate::bad;
use crate::console::println;
use crate::lock::Lock;
use crate::platform::POSTMORTEM;
use crate::{cpus, nmi, watchdog};

/// An NMI while two CPUs are in a tight loop, sent by one of them.
#[inline(never)]
pub fn nmi() {
    let other = another();
    cpus::run_on(other, || {
        tight_loop(&EVENT);
    });
    wait_for(1);
    interrupts::send_nmi(other);
    tight_loop(&AtomicU32::new(0));
    println!("continued after the NMI");
}

/// Loops in assembly until a report is done. Sets `runs` once it is in the loop.
#[inline(never)]
fn tight_loop(runs: &AtomicU32) {
    // SAFETY: the function reads the first word and writes the second one; both are atomics that live long enough.
    unsafe { bad::bad_loop(nmi::REPORTS.as_ptr(), runs.as_ptr()) };
    black_box(());
}

/// The number of the last event: how CPUs wait for each other.
static EVENT: AtomicU32 = AtomicU32::new(0);

/// Waits until [`EVENT`] is at least `event`.
#[inline(never)]
fn wait_for(event: u32) {
    while EVENT.load(Ordering::Acquire) < event {
        spin_loop();
    }
}

/// A panic on one CPU while another one holds the console, in the middle of a line.
#[inline(never)]
pub fn console_held() {
    println!("{}", Endless);
}

/// A value whose text never ends.
struct Endless;

impl fmt::Display for Endless {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another CPU panics in the middle of this line")?;
        cpus::run_on(another(), || {
            panic!("panic on a CPU that does not hold the console")
        });
        wait_for(u32::MAX);
        f.write_str(", before its second part is printed")
    }
}

/// Returns when two CPUs have called it.
fn meet() {
    static READY: AtomicUsize = AtomicUsize::new(0);
    READY.fetch_add(1, Ordering::AcqRel);
    while READY.load(Ordering::Acquire) < 2 {
        spin_loop();
    }
}

/// Panics on two CPUs at the same time.
#[inline(never)]
pub fn two_panics() {
    #[inline(never)]
    fn meet_and_panic() {
        meet();
        panic!("one of two");
    }
    cpus::run_on(another(), meet_and_panic);
    meet_and_panic();
}

/// Breakpoints on two CPUs at the same time.
#[inline(never)]
pub fn two_breakpoints() {
    #[inline(never)]
    fn meet_and_stop() {
        meet();
        bad::breakpoint();
        EVENT.fetch_add(1, Ordering::Release);
    }
    cpus::run_on(another(), meet_and_stop);
    meet_and_stop();
    wait_for(2);
    println!("both went on");
}

/// A panic while another CPU does not answer, because it is in the handler of an NMI that does not come to an end.
#[inline(never)]
pub fn silent_cpu() {
    // While an NMI is handled, no other NMI is delivered.
    nmi::handle_with(|| {
        EVENT.store(1, Ordering::Release);
        cpu::halt();
    });
    interrupts::send_nmi(another());
    wait_for(1);
    panic!("panic while another CPU does not respond");
}

/// A CPU hangs with interrupts masked, and holds a lock that another one waits for.
#[inline(never)]
pub fn hang() {
    cpu::unmask_interrupts();
    watchdog::start();
    cpus::run_on(another(), || {
        cpu::unmask_interrupts();
        while !POSTMORTEM.is_watched() {
            spin_loop();
        }
        let mut ledger = LEDGER.lock();
        *ledger += 1;
        cpu::mask_interrupts();
        EVENT.store(1, Ordering::Release);
        tight_loop(&AtomicU32::new(0));
        *ledger += 1;
    });
    wait_for(1);
    println!("the ledger has {entries} entries", entries = *LEDGER.lock());
}

/// The lock that two CPUs want.
static LEDGER: Lock<u32> = Lock::new("ledger", 0);
