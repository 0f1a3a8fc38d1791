//! Looking an address up in what objdump printed: one after another, without any of the reader's ways.

use unwind::sframe::{Abi, LookupError, Row};

use crate::objdump::{Dump, Function};

/// What the format says of a pc, by reading everything.
pub fn lookup(
    functions: &[Function],
    blocks: &[u64],
    pc: u64,
) -> Result<(usize, Row), LookupError> {
    let containing = functions.iter().enumerate().filter(|(_, function)| {
        function.start <= pc && pc - function.start < u64::from(function.size)
    });
    let (index, function) = containing
        .max_by_key(|(index, function)| (function.start, *index))
        .ok_or(LookupError::NoFunction)?;
    if function.rows.is_empty() {
        return Err(LookupError::NoRows {
            signal: function.signal,
        });
    }
    let mut offset = pc - function.start;
    if function.pc_mask {
        offset %= blocks[index];
    }
    let row = function
        .rows
        .iter()
        .rev()
        .find(|row| u64::from(row.offset) <= offset);
    row.map(|row| (index, *row)).ok_or(LookupError::NoRow)
}

/// The block sizes of PC-mask functions, 0 for others. objdump does not print them, but they are those of the entries
/// of the procedure linkage tables, which the ABIs give.
pub fn blocks(dump: &Dump, abi: Abi) -> Vec<u64> {
    let block = |function: &Function| {
        if !function.pc_mask {
            return 0;
        }
        let mut sections = dump.sections.iter();
        let section = sections.find(|(_, at, size)| (*at..at + size).contains(&function.start));
        let (name, _, size) = section.expect("a section for every function");
        match (abi, name.as_str()) {
            (Abi::Amd64, ".plt" | ".plt.sec") => 16,
            // One entry only in these files: 8 bytes, with a landing pad (IBT) 16.
            (Abi::Amd64, ".plt.got") => *size,
            (Abi::S390x, ".plt") => 32,
            other => panic!("a PC-mask function in {other:?}"),
        }
    };
    dump.functions.iter().map(block).collect()
}

/// Every pc worth a look: around each row, each function and each block; of short functions all.
pub fn interesting(functions: &[Function], blocks: &[u64]) -> Vec<u64> {
    let mut found = Vec::new();
    for (function, &block) in functions.iter().zip(blocks) {
        let size = u64::from(function.size);
        let mut add = |offset: u64| {
            let pc = function.start.wrapping_add(offset);
            found.extend([pc.wrapping_sub(1), pc, pc.wrapping_add(1)]);
        };
        add(0);
        add(size);
        let repeats = if block == 0 { 1 } else { size.div_ceil(block) };
        for repeat in 0..repeats {
            for row in &function.rows {
                add(repeat * block + u64::from(row.offset));
            }
        }
        if size <= 1024 {
            (0..size).for_each(add);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
