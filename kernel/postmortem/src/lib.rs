#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), no_std)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

pub mod aarch64;
pub mod arm;
mod atomics;
mod caches;
mod cause;
mod code;
mod cpu;
mod dump;
mod dying;
mod entry;
mod exception;
mod first_failure;
mod guarded_stack;
mod held;
mod image;
mod kernel_text;
mod ladder;
mod last_words;
mod lines;
mod machine;
mod module;
mod modules;
mod names;
mod patience;
mod platform;
mod postmortem;
mod print;
pub mod probe;
mod regions;
mod rendezvous;
mod report;
mod samples;
mod stack;
mod stacks;
mod subject;
mod tables;
#[cfg(test)]
mod tests;
mod turns;
mod walk;
mod watchdog;
mod words;
mod writers;
pub mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as arch;
#[cfg(target_arch = "arm")]
use arm as arch;
#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

pub use arch::{Registers, TrapFrame, capture};
pub use cause::Cause;
pub use guarded_stack::GuardedStack;
pub use held::{Held, Other};
pub use image::{Image, Section};
pub use last_words::Region;
pub use module::{Module, ModuleError};
pub use modules::{Modules, Room};
pub use names::Names;
pub use platform::{Platform, Task, TrapCode};
pub use postmortem::{Out, PerCpu, Postmortem, WriteTrace};
#[cfg(not(target_arch = "x86_64"))]
pub use print::trap_frame;
pub use print::{
    note_stack, physical_memory_at, print, print_from, print_interrupted, print_no_more,
    print_stack, print_stack_from, stacks_by, start, stop_if_asked, stop_if_asked_from,
    stop_others,
};
pub use samples::{Sampler, Samples};
pub use stack::{Owner, ReadWord, Stack};
pub use stacks::{Guard, Place, Stacks};
pub use unwind::{Range, RuleCache};
pub use walk::Walk;
pub use watchdog::SECONDS;
pub use writers::{MiniUart, Pl011, PrintFn};
#[cfg(target_arch = "x86_64")]
pub use x86_64::SerialPort;
