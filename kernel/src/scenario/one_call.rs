//! A report as in a kernel that declares nothing.

use core::fmt;
use core::hint::black_box;

use crate::arch::{cpu, mmu};
use crate::console::println;
use crate::platform::POSTMORTEM;

/// Reports by one call, which knows of no platform: it asks the MMU what may be read.
#[inline(never)]
pub fn run() {
    mmu::tell_report();
    outer(black_box(3), || {
        postmortem::print(&mut POSTMORTEM.out(), &"nothing has failed");
    });
    black_box(());
}

/// The smallest one.
#[inline(never)]
pub fn stack() {
    mmu::tell_report();
    outer(black_box(3), || {
        postmortem::print_stack(&mut POSTMORTEM.out(), &"nothing has failed");
    });
    black_box(());
}

/// One that tells whether interrupts are masked while it is written, and afterwards.
#[inline(never)]
pub fn masked() {
    mmu::tell_report();
    outer(black_box(3), || {
        postmortem::print(&mut POSTMORTEM.out(), &Masks);
    });
    println!("{Masks}");
    black_box(());
}

/// As text, whether interrupts are masked now.
struct Masks;

impl fmt::Display for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match cpu::interrupts_are_masked() {
            true => "interrupts are masked",
            false => "interrupts are not masked",
        })
    }
}

#[inline(never)]
fn outer(calls: u32, report: fn()) {
    match calls {
        0 => report(),
        _ => outer(black_box(calls - 1), report),
    }
    black_box(());
}
