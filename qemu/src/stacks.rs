//! The stacks and tasks that a kernel declares: arrays of them, at the symbols that `kernel/src/symbols.rs` promises.

use anyhow::{Context, Result};
use object::{Object, ObjectSegment, ObjectSymbol};
use unwind::Range;

/// The static on whose memory `kernel/postmortem` runs reports.
const OF_REPORTS: &str = "postmortem::print::own_stack::REPORT";

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
    /// Of a task's, its place among those of tasks, counted from the last one, which is 1.
    pub from_last: Option<u64>,
}

/// The stack on which reports run, if the image has one.
pub fn of_reports<'data>(file: &impl Object<'data>) -> Option<Range> {
    let is_it = |name: &str| format!("{:#}", rustc_demangle::demangle(name)) == OF_REPORTS;
    let mut symbols = file.symbols();
    let symbol = symbols.find(|symbol| symbol.name().is_ok_and(is_it))?;
    let start = symbol.address();
    Some(Range::new(start, start.saturating_add(symbol.size())))
}

/// What a walk may read that starts on the stack of reports: this stack, and all other memory, because the stack of the failed code may be
/// anywhere.
pub fn with_all_memory(of_reports: Range) -> Vec<Range> {
    vec![of_reports, Range::new(0, u64::MAX)]
}

/// All stacks that an image declares; none if it has no such symbols.
///
/// # Errors
/// When a symbol is there, and no array.
pub fn declared<'data>(file: &impl Object<'data>) -> Result<Vec<Declared>> {
    let mut stacks = Vec::new();
    for (symbol, is_task) in ARRAYS {
        let Some([first, count, stride, guard, size]) = array(file, symbol)? else {
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
                from_last: is_task.then(|| count - number),
            });
        }
    }
    Ok(stacks)
}

/// Where the tasks of a kernel are noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// The address of the first one's words: its state; and, while it does not run, its stack pointer.
    pub first: u64,
    /// How many there can be.
    pub count: u64,
    /// Bytes from one to the next.
    pub stride: u64,
    /// Bytes at the begin of each whose meaning is known.
    pub known: u64,
    /// Where those go on that do not run.
    pub resume: u64,
    /// Bytes of an address, and of a number that counts things in memory.
    pub word: u64,
}

/// The tasks, if the image says where they are.
///
/// # Errors
/// When a symbol is there, and no array.
pub fn tasks<'data>(file: &impl Object<'data>) -> Result<Option<Tasks>> {
    let (array, resume) = (array(file, "TASKS")?, file.symbol_by_name("task_resume"));
    let tasks = array
        .zip(resume)
        .map(|([first, count, stride, known, _], resume)| Tasks {
            first,
            count: count.min(MOST),
            stride,
            known,
            resume: resume.address(),
            word: word(file) as u64,
        });
    Ok(tasks)
}

/// The words of an array: where its first is, how many there are, bytes from one to the next, of guard pages or known, and in use.
fn array<'data>(file: &impl Object<'data>, symbol: &str) -> Result<Option<[u64; 5]>> {
    let Some(array) = file.symbol_by_name(symbol) else {
        return Ok(None);
    };
    let mut words = [0; 5];
    for (word, offset) in words.iter_mut().zip((0..).step_by(word(file))) {
        let address = array.address().checked_add(offset);
        let found = address.and_then(|address| constant(file, address));
        *word = found
            .with_context(|| format!("the symbol {symbol} is not in any segment of the image"))?;
    }
    Ok(Some(words))
}

fn word<'data>(file: &impl Object<'data>) -> usize {
    if file.is_64() { 8 } else { 4 }
}

/// The most stacks or tasks of an array that anybody looks at: what a damaged file says can be any number.
const MOST: u64 = 1024;

/// A word of the file.
fn constant<'data>(file: &impl Object<'data>, address: u64) -> Option<u64> {
    let mut segments = file.segments();
    segments.find_map(|segment| {
        let offset = usize::try_from(address.checked_sub(segment.address())?).ok()?;
        let bytes = segment.data().ok()?.get(offset..)?;
        Some(match file.is_64() {
            true => u64::from_le_bytes(*bytes.first_chunk()?),
            false => u32::from_le_bytes(*bytes.first_chunk()?).into(),
        })
    })
}
