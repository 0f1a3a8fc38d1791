//! The parts of the demonstration kernel that need no bare metal: firmware's tables, states in atomic words, line editing. They are a
//! library so that their tests run on the host.
#![cfg_attr(not(test), no_std)]

pub mod boot_memory;
pub mod command_line;
pub mod cut_off;
pub mod device_tree;
pub mod history;
pub mod keys;
pub mod line;
pub mod madt;
pub mod name;
pub mod on_screen;
pub mod scenarios;
pub mod start_info;
pub mod task_state;

pub use boot_memory::BootMemory;
