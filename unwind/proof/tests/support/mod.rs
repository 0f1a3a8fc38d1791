//! Helpers of the system tests.
#![allow(dead_code, unused_macros, reason = "a part of them is used")]

#[path = "../../../../qemu/tests/support/boots.rs"]
pub mod boots;
#[path = "../../../../qemu/tests/support/built.rs"]
pub mod built;
#[path = "../../../../qemu/tests/support/each.rs"]
pub mod each;
#[path = "../../../../qemu/tests/support/gdb.rs"]
pub mod gdb;
#[path = "../../../../qemu/tests/support/log.rs"]
pub mod log;
#[path = "../../../../qemu/tests/support/memo.rs"]
pub mod memo;
#[path = "../../../../qemu/tests/support/ran.rs"]
pub mod ran;
#[path = "../../../../qemu/tests/support/symbols.rs"]
pub mod symbols;
pub mod user_mode;
