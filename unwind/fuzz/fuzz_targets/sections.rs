//! Sections of any bytes: eight of address, eight of a program counter, the rest is the table.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(([address, pc], table)) = exercise::words(data) {
        exercise::sections(table, address, pc);
    }
    if let Some((numbers, _)) = exercise::words(data) {
        exercise::values(numbers);
    }
});
