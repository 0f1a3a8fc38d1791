//! ARM's exception tables, made as a linker makes them: bytes that are damaged at random are hardly ever in order.

use unwind::{Code, End, Range};

use crate::damage::TEXT;
use crate::damage::exercise::{self, Start};
use crate::damage::random::Random;

/// Exception tables with an index at `address`, the other one as long behind it, and functions of 16 bytes each below them. Also the
/// functions' addresses.
pub fn make(address: u64, random: &mut Random) -> (Vec<u8>, Vec<u64>) {
    let count = 1 + random.below(16);
    let start = address - (count as u64) * 16;
    let functions: Vec<u64> = (0..count as u64).map(|index| start + index * 16).collect();
    let distance = |to: u64, from: u64| (to.wrapping_sub(from) as u32) & 0x7fff_ffff;
    let (mut index, mut table) = (Vec::new(), Vec::new());
    let opcodes = |random: &mut Random| match random.below(3) {
        // Any; finish; a pop of some of r4 to r15.
        0 => random.next() as u32 & 0xffff,
        1 => 0xb0b0,
        _ => 0x8000 | random.next() as u32 & 0xfff,
    };
    for function in &functions {
        let at = address + index.len() as u64;
        index.extend(distance(*function, at).to_le_bytes());
        let word = match random.below(6) {
            0 => 1,
            1 | 2 => 0x80b0_0000 | opcodes(random),
            _ => {
                let entry = address + (count * 8 + table.len()) as u64;
                let first = match random.below(4) {
                    0 => 0x8000_00b0 | opcodes(random) << 8,
                    1 => 0x8100_0000 | opcodes(random),
                    // A routine, and opcodes as behind one of GNU's.
                    2 => distance(functions[0], entry),
                    _ => 0x8200_0000 | opcodes(random),
                };
                table.extend(first.to_le_bytes());
                table.extend((0x00b0_0000 | opcodes(random)).to_le_bytes());
                distance(entry, at + 4)
            }
        };
        index.extend(word.to_le_bytes());
    }
    table.resize(index.len(), 0);
    index.extend(table);
    (index, functions)
}

/// Walks over a stack whose words are addresses of functions, in the stack, or nothing sensible.
pub fn walk(bytes: &[u8], address: u64, functions: &[u64], random: &mut Random) -> Option<End> {
    let code = |random: &mut Random| functions[random.below(functions.len())] + random.next() % 18;
    let stack = |random: &mut Random| 0x10_0000 + (random.next() & 0xfc);
    let words: Vec<u64> = (0..96)
        .map(|_| match random.below(4) {
            0 => stack(random),
            1 => random.next(),
            _ => code(random),
        })
        .collect();
    let ranges = [Range::new(0x10_0000, 0x10_0100)];
    let texts = [Code::new(&TEXT, functions[0])];
    let start = Start {
        registers: [code(random), stack(random), stack(random), code(random)],
        ranges: &ranges,
        code: &texts[..random.below(2)],
        word: &|address| words[(address >> 2) as usize % words.len()],
        choices: match random.below(2) {
            0 => 0,
            _ => random.next(),
        },
    };
    exercise::walk_by_exception_tables(bytes, address, &start)
}
