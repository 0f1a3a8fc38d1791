//! All CPUs work: calls of all kinds, the heap, text, exceptions, interrupts from other CPUs. A target for interruptions at
//! arbitrary instructions.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::hint::{black_box, spin_loop};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::arch::{cpu, interrupts};
use crate::bad;
use crate::console::println;
use crate::{breakpoint, cpus};

/// Rounds of each CPU, unless the command line says otherwise.
const ROUNDS: u32 = 200;

/// How many CPUs are done.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// The sum of all results, so that none is optimized away.
static SUM: AtomicU64 = AtomicU64::new(0);

/// Works on all CPUs, and waits for them.
pub fn run() {
    breakpoint::handle_with(|| {
        SUM.fetch_add(1, Ordering::Relaxed);
    });
    cpus::online()
        .filter(|cpu| *cpu != cpus::this())
        .for_each(|cpu| cpus::run_on(cpu, work));
    println!("all CPUs are working");
    work();
    while DONE.load(Ordering::Acquire) < cpus::online().count() {
        spin_loop();
    }
    let count = cpus::online().count();
    println!("{count} CPUs have finished their work");
}

#[inline(never)]
fn work() {
    cpu::unmask_interrupts();
    for number in 0..super::ARGUMENT.get().copied().unwrap_or(ROUNDS) {
        round(u64::from(number));
    }
    cpu::mask_interrupts();
    DONE.fetch_add(1, Ordering::Release);
}

/// One unit of work, of a kind that depends on `number`.
#[inline(never)]
fn round(number: u64) {
    let seed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let sum = match seed % 6 {
        0 => collatz(seed | 1),
        1 => recursion(seed % 40),
        2 => heap(seed % 50),
        3 => text(seed),
        4 => exception(),
        _ => interrupt(seed),
    };
    SUM.fetch_add(black_box(sum), Ordering::Relaxed);
}

/// A loop without calls.
#[inline(never)]
fn collatz(mut number: u64) -> u64 {
    let mut steps = 0;
    while number != 1 && steps < 1000 {
        number = if number.is_multiple_of(2) {
            number / 2
        } else {
            number.wrapping_mul(3).wrapping_add(1)
        };
        steps += 1;
    }
    steps
}

#[inline(never)]
fn recursion(depth: u64) -> u64 {
    if depth == 0 {
        return 1;
    }
    black_box(recursion(depth - 1)) + depth
}

/// The allocator, whose lock all CPUs want.
#[inline(never)]
fn heap(count: u64) -> u64 {
    let map: BTreeMap<u64, Vec<u64>> = (0..count)
        .map(|key| (key.wrapping_mul(7919) % 101, (0..key % 9).collect()))
        .collect();
    map.iter()
        .map(|(key, list)| key + list.iter().sum::<u64>())
        .sum()
}

#[inline(never)]
fn text(number: u64) -> u64 {
    let option = Some(number);
    let text = format!("{number} is {number:#x} in hexadecimal, and {option:?} as an `Option`");
    text.bytes().map(u64::from).sum()
}

/// Through the trap code and back.
#[inline(never)]
fn exception() -> u64 {
    bad::breakpoint();
    1
}

/// Interrupts another CPU.
#[inline(never)]
fn interrupt(seed: u64) -> u64 {
    let online = cpus::online().count();
    interrupts::wake(seed as usize % online);
    seed & 1
}
