//! ARM's exception tables of any bytes, and walks by them: four registers, what a kernel chooses, sixteen stack words that repeat,
//! the index, and as many bytes of the table.
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
    let Some((stack, tables)) = exercise::words::<16>(data) else {
        return;
    };
    exercise::exception_tables(tables, 0x4_0000, registers[0]);
    let ranges = [Range::new(0x10_0000, 0x10_0100)];
    let code = [Code::new(tables, 0x3_0000)];
    let start = exercise::Start {
        registers,
        ranges: &ranges,
        code: &code[..(registers[0] % 2) as usize],
        word: &|address| stack[(address >> 2) as usize % stack.len()],
        choices,
    };
    exercise::walk_by_exception_tables(tables, 0x4_0000, &start);
});
