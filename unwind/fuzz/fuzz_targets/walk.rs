//! Walks with tables, registers, stacks and code of any bytes: four registers, what a kernel chooses, sixteen stack words that
//! repeat, the table, whose bytes are the code, too.
#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;
use unwind::{Code, Range};

fuzz_target!(|data: &[u8]| {
    let Some((registers, data)) = exercise::words::<4>(data) else {
        return;
    };
    let Some(([choices], data)) = exercise::words(data) else {
        return;
    };
    let Some((stack, table)) = exercise::words::<16>(data) else {
        return;
    };
    let ranges = [
        Range::new(0x10_0000, 0x10_0100),
        Range::new(0x20_0000, 0x20_0080),
    ];
    let code = [
        Code::new(table, 0x4_0000),
        Code::without_bytes(Range::new(0x6_0000, 0x8_0000)),
    ];
    let start = exercise::Start {
        registers,
        ranges: &ranges,
        // Two bits of the program counter choose, so that all are reached.
        code: &code[..(registers[0] % 4).min(2) as usize],
        word: &|address| stack[(address >> 3) as usize % stack.len()],
        choices,
    };
    exercise::walk(table, 0x4_0000, &start);
});
