//! Every CPU prints a line.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::console::println;
use crate::cpus;

/// How many CPUs have printed their line.
static SAID: AtomicUsize = AtomicUsize::new(0);

/// Makes every CPU print its line, and waits for all.
pub fn run() {
    cpus::online()
        .filter(|cpu| *cpu != cpus::this())
        .for_each(|cpu| cpus::run_on(cpu, say));
    say();
    while SAID.load(Ordering::Acquire) < cpus::online().count() {
        core::hint::spin_loop();
    }
}

fn say() {
    let cpu = cpus::this();
    println!(
        "cpu {cpu} runs and has hardware ID {id:#x}",
        id = cpus::hardware_id(cpu)
    );
    SAID.fetch_add(1, Ordering::Release);
}
