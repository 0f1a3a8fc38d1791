//! Symbol tables of any bytes, with their checksum and with one made right.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(([address, pc], table)) = exercise::words(data) {
        exercise::symbols(table, address, pc);
        let mut right = table.to_vec();
        exercise::with_checksum(&mut right);
        exercise::symbols(&right, address, pc);
    }
});
