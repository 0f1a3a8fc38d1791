//! A small kernel that fails in every way a kernel can, and reports how.
//!
//! It shows what a kernel has to provide for `unwind`: boot code whose last frame can be verified (`arch/*/boot.s`), stacks
//! with known ranges (`stack.rs`), trap code with unwind rules for every instruction (`arch/*/vectors.rs`), an implementation
//! of `postmortem`'s `Platform` (`platform.rs`), and a linker script with a place for the tables (`arch/*/link.ld`). The
//! command line chooses one [`scenario`] to run.
#![no_std]
#![no_main]

#[cfg(not(target_os = "none"))]
compile_error!("this kernel runs only on bare metal: build it with `cargo run`");

extern crate alloc;

mod arch;
mod bad;
mod board;
mod breakpoint;
mod console;
mod cpus;
mod crash_screen;
mod frames;
mod handlers;
mod heap;
mod image;
mod interrupt;
mod lock;
mod logger;
mod monitor;
mod nmi;
mod page_table;
mod percpu;
mod platform;
mod sabotage;
mod scenario;
mod sender;
mod stack;
mod stacks;
mod symbols;
mod task;
mod timer;
mod typed;
mod user;
mod verdict;
mod watchdog;
mod wire;

use console::println;
use handlers::HANDLERS;
use portable::scenarios::Stage;
use scenario::early;

arch::boot::entry!(main = kernel_main, start_main = start_main);

/// Called by the entry of every CPU but the first, on its boot stack.
extern "C" fn start_main(index: usize) -> ! {
    cpus::come_online(index);
    platform::POSTMORTEM.know_cpu();
    task::work()
}

/// Called by `kernel_entry` with what the boot loader passed: x86-64 the physical address of PVH start info, AArch64 that of
/// the device tree, or anything if there is none.
extern "C" fn kernel_main(argument: u64) -> ! {
    cpus::set_number(0);
    arch::init(&HANDLERS);
    // SAFETY: `argument` is the boot loader's. The boot tables map this RAM; `protect`, which replaces them, consumes the value.
    let mut memory = unsafe { board::memory(argument) };
    let command_line = typed::instead_of(board::command_line(&memory, argument));
    let scenario = command_line.as_ref().and_then(|line| line.scenario());
    let has = |word| command_line.as_ref().is_some_and(|line| line.has(word));
    sabotage::choose(has);
    if !has("anonymous") {
        platform::POSTMORTEM.know_cpu();
    }
    platform::show_registers(has("registers"));
    if has("markup") {
        platform::show_markup();
    }
    if has("dump") {
        platform::dump_at_end();
    }
    if has("reset") {
        platform::reset_at_end();
    }
    let width = command_line
        .as_ref()
        .and_then(|line| line.number_of("compact"));
    platform::use_width(width.unwrap_or_default());
    frames::use_frames(has("defmt"));
    early::run(scenario, Stage::Vectors);
    let cpus = cpus::List::read(&mut memory, argument);
    arch::mmu::protect(memory, stacks::guards());
    early::run(scenario, Stage::Tables);
    heap::init();
    arch::interrupts::init();
    arch::interrupts::init_cpu();
    board::enable_button();
    crash_screen::init(has("screen"));
    // Before anything is written, which is kept too.
    platform::POSTMORTEM.show_last_words();
    let scenario = scenario.unwrap_or(scenario::DEFAULT);
    println!(
        "kernel on {board}, {architecture}: scenario {scenario}",
        board = board::name(),
        architecture = arch::NAME
    );
    cpus.start(|cpu| {
        let id = cpus::hardware_id(cpu);
        println!("cpu {cpu} with hardware ID {id:#x} does not start");
    });
    arch::cpu::unmask_interrupts();

    if frames::are_used() {
        defmt::info!(
            "{=usize} of {=usize} started cpus are online",
            cpus::online().count(),
            cpus::started()
        );
    }
    let argument = command_line.as_ref().and_then(|line| line.argument());
    let verdict = scenario::run(scenario, argument);
    platform::leave(verdict)
}
