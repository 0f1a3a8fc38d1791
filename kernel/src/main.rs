//! A small kernel that dies in every way a kernel can, and says how.
//!
//! It shows what a kernel needs to do for `unwind`: boot code whose last frame can be verified (`arch/*/boot.s`), stacks
//! with known ranges (`stack.rs`), trap code with rules for every instruction (`arch/*/vectors.rs`), what `postmortem` asks of a
//! kernel (`platform.rs`), and a linker script with a place for the tables (`arch/*/link.ld`). What it does is a scenario, chosen
//! on the command line: see [`scenario`].
#![no_std]
#![no_main]

#[cfg(not(target_os = "none"))]
compile_error!("the kernel runs on bare metal: `cargo run` builds it for that");

extern crate alloc;

mod arch;
mod board;
mod boot_memory;
mod breakpoint;
mod command_line;
mod console;
mod cpus;
mod frames;
mod heap;
mod image;
mod interrupt;
mod lock;
mod monitor;
mod nmi;
mod page_table;
mod platform;
mod scenario;
mod stack;
mod symbols;
mod task;
mod timer;
mod verdict;
mod watchdog;

use boot_memory::BootMemory;
use console::println;
use scenario::early::{self, Stage};

/// Called by `kernel_entry` with what the boot loader passed: x86-64 the physical address of PVH start info, AArch64
/// perhaps that of the device tree.
extern "C" fn kernel_main(argument: u64) -> ! {
    cpus::introduce(0);
    arch::init();
    image::verify_tables();
    // SAFETY: this is the first that runs after the boot tables were put in force, and `protect` below takes the value.
    let mut memory = unsafe { BootMemory::new() };
    let command_line = board::command_line(&memory, argument);
    let scenario = command_line.as_ref().and_then(|line| line.scenario());
    let has = |word| command_line.as_ref().is_some_and(|line| line.has(word));
    platform::show_registers(has("registers"));
    if has("markup") {
        platform::show_markup();
    }
    frames::use_frames(has("defmt"));
    early::run(scenario, Stage::Vectors);
    let cpus = cpus::List::read(&mut memory, argument);
    arch::mmu::protect(memory);
    early::run(scenario, Stage::Tables);
    heap::init();
    arch::interrupts::init();
    arch::interrupts::init_cpu();
    cpus.start();
    arch::cpu::unmask_interrupts();

    let scenario = scenario.unwrap_or(scenario::DEFAULT);
    platform::POSTMORTEM.show_last_words();
    println!(
        "kernel on {}, {}: scenario {scenario}",
        board::name(),
        arch::NAME
    );
    if frames::are_used() {
        defmt::info!(
            "{=usize} of {=usize} cpus run",
            cpus::online().count(),
            cpus::started()
        );
    }
    let argument = command_line.as_ref().and_then(|line| line.argument());
    let verdict = scenario::run(scenario, argument);
    arch::exit::leave(verdict)
}
