//! Rule maps of any bytes, with their checksum and with one made right: eight bytes of address, eight of a program counter, the rest
//! is the map.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(([address, pc], map)) = exercise::words(data) {
        exercise::map(map, address, pc);
        let mut right = map.to_vec();
        exercise::with_map_checksum(&mut right);
        exercise::map(&right, address, pc);
    }
});
