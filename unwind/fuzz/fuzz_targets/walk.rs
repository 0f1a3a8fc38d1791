//! Walks with tables, registers and stacks of any bytes: four registers, sixteen stack words that repeat, the table.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;
use unwind::Range;

fuzz_target!(|data: &[u8]| {
    let Some((registers, data)) = exercise::words::<4>(data) else {
        return;
    };
    let Some((stack, table)) = exercise::words::<16>(data) else {
        return;
    };
    let ranges = [
        Range::new(0x10_0000, 0x10_0100),
        Range::new(0x20_0000, 0x20_0080),
    ];
    let text = [Range::new(0x4_0000, 0x8_0000)];
    let start = exercise::Start {
        registers,
        ranges: &ranges,
        // One bit of the program counter chooses, so that both are reached.
        text: if registers[0] & 1 == 0 { &text } else { &[] },
        word: &|address| stack[(address >> 3) as usize % stack.len()],
    };
    exercise::walk(table, 0x4_0000, &start);
});
