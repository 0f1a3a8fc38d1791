//! The stacks that a kernel declares: arrays of them, at the symbols that `kernel/src/symbols.rs` promises.

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSegment, ObjectSymbol};
use unwind::Range;

/// The symbols of arrays, and whether the stacks of an array are tasks', not CPUs'.
const ARRAYS: [(&str, bool); 8] = [
    ("STACKS_BOOT", false),
    ("STACKS_EXCEPTION", false),
    ("STACKS_OVERFLOW", false),
    ("STACKS_INTERRUPT", false),
    ("STACKS_NMI", false),
    ("STACKS_DOUBLE_FAULT", false),
    ("STACKS_MACHINE_CHECK", false),
    ("STACKS_TASK", true),
];

/// A declared stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// What it is for, and whose: `boot`, `interrupt`, `task 3`.
    pub name: String,
    /// With its guard pages, as walks of the kernel's own get it.
    pub range: Range,
    /// The first word behind the guard pages.
    pub bottom: u64,
    /// The CPU that runs on it; a task's has none.
    pub cpu: Option<u64>,
}

/// All stacks that an image declares; none if it has no such symbols.
///
/// # Errors
/// When a symbol is there, and no array.
pub fn declared(file: &ElfFile64<'_, Endianness>) -> Result<Vec<Declared>> {
    let mut stacks = Vec::new();
    for (symbol, is_task) in ARRAYS {
        let Some(array) = file.symbol_by_name(symbol) else {
            continue;
        };
        let words: Option<Vec<u64>> = (0..5)
            .map(|index| constant(file, array.address().checked_add(index * 8)?))
            .collect();
        let words = words.with_context(|| format!("{symbol} lies in no segment"))?;
        let [first, count, stride, guard, size] = words[..] else {
            continue;
        };
        let kind = symbol.trim_start_matches("STACKS_");
        let kind = kind.to_ascii_lowercase().replace('_', " ");
        for number in 0..count.min(MOST) {
            let start = first.wrapping_add(number.wrapping_mul(stride));
            let bottom = start.wrapping_add(guard);
            stacks.push(Declared {
                name: match is_task {
                    true => format!("{kind} {number}"),
                    false => kind.clone(),
                },
                range: Range::new(start, bottom.wrapping_add(size)),
                bottom,
                cpu: (!is_task).then_some(number),
            });
        }
    }
    Ok(stacks)
}

/// The most stacks of an array that anybody looks at: what a damaged file says can be any number.
const MOST: u64 = 1024;

/// A word of the file.
fn constant(file: &ElfFile64<'_, Endianness>, address: u64) -> Option<u64> {
    let mut segments = file.segments();
    segments.find_map(|segment| {
        let offset = usize::try_from(address.checked_sub(segment.address())?).ok()?;
        let word = segment.data().ok()?.get(offset..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    })
}
