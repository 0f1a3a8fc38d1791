//! A failure whose report calls the kernel, which fails, too: `sabotage CALL WAY`, with the words of [`crate::sabotage`].

use core::hint::spin_loop;

use crate::arch::{cpu, interrupts};
use crate::platform::POSTMORTEM;
use crate::sabotage::{Words, arm, call, trip};
use crate::{bad, cpus, interrupt, nmi, watchdog};

/// Panics in the handler of an interrupt, so that the report walks through trap code. With several CPUs the watchdog runs.
#[inline(never)]
pub fn run() {
    if cpus::others().next().is_some() {
        cpu::unmask_interrupts();
        watchdog::start();
        while !POSTMORTEM.is_watched() {
            spin_loop();
        }
    }
    if call() == Some("outside") {
        nmi::handle_with(|| trip("outside"));
        arm();
        interrupts::send_nmi(cpus::this());
    } else {
        interrupt::handle_with(interrupts::WAKE, |_| {
            arm();
            panic!(
                "this is the first failure: {words}",
                words = Words("message", "its words")
            );
        });
        interrupts::wake(cpus::this());
    }
    bad::stay();
}
