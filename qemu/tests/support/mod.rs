//! Helpers of the system tests. Each test program uses a part of them.
#![allow(dead_code, reason = "every test program compiles this and uses a part")]

pub mod built;
pub mod calls;
pub mod corrupt;
pub mod expected;
pub mod gdb;
pub mod llvm;
pub mod outside;
pub mod recursion;
pub mod report;
pub mod runner;
pub mod session;
pub mod tiny;
pub mod trace;
pub mod ways;

use object::{Object, ObjectSymbol};

/// The address of the symbol whose name, mangled or not, ends with `end`.
#[track_caller]
pub fn symbol(file: &object::File<'_>, end: &str) -> u64 {
    let mut symbols = file.symbols();
    let symbol = symbols.find(|symbol| symbol.name().is_ok_and(|name| name.ends_with(end)));
    symbol
        .unwrap_or_else(|| panic!("no symbol {end}"))
        .address()
}
