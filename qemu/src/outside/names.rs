//! What tasks, their stacks and their locks are called, in the words of a kernel that says where they are noted.

use linker::symbols::printable;

use super::image::Image;
use super::memory::Memory;
use crate::stacks::Tasks;

/// Where, from the begin of a task, its name is, how many bytes that has, and the address of the lock that it wants.
const NAME: u64 = 16;
const LENGTH: u64 = 31;
const WANTS: u64 = 32;
/// The longest name of a lock that is shown.
const LONGEST: u64 = 64;

/// Where a task's words begin.
pub(super) const fn begin(tasks: Tasks, number: u64) -> u64 {
    tasks.first.wrapping_add(number.wrapping_mul(tasks.stride))
}

/// Whether what is known of a task has all of these.
const fn has_names(tasks: Tasks) -> bool {
    tasks.known >= WANTS + tasks.word
}

/// A task's number, and its name if it has one.
pub(super) fn task(memory: &Memory<'_>, tasks: Tasks, number: u64) -> String {
    match name(memory, tasks, number) {
        Some(name) => format!("{number} {name}"),
        None => number.to_string(),
    }
}

fn name(memory: &Memory<'_>, tasks: Tasks, number: u64) -> Option<String> {
    if !has_names(tasks) || number >= tasks.count {
        return None;
    }
    let begin = begin(tasks, number);
    let length = bytes(memory, begin.wrapping_add(LENGTH), 1)?;
    text(
        memory,
        begin.wrapping_add(NAME),
        u64::from(length[0]).min(LENGTH - NAME),
    )
}

/// Returns which lock a task waits for, and which task holds the lock, in words; `None` if this is unknown.
pub(super) fn lock(memory: &Memory<'_>, tasks: Tasks, number: u64) -> Option<String> {
    if !has_names(tasks) {
        return None;
    }
    let word = |at| memory.word_with(at, tasks.word);
    let lock = word(begin(tasks, number).wrapping_add(WANTS))?;
    let words = [0, 1, 2].map(|number| word(lock.wrapping_add(number * tasks.word)));
    let [Some(name), Some(length), Some(holder)] = words else {
        return None;
    };
    let name = text(memory, name, length.min(LONGEST))?;
    Some(match holder.checked_sub(1) {
        Some(holder) => {
            let task = task(memory, tasks, holder);
            format!("waits for lock {name}, which task {task} holds")
        }
        None => format!("waits for lock {name}, which no task holds"),
    })
}

/// The name of the stack that this stack pointer is in: a task's has the name of that.
pub(super) fn stack(image: &Image, memory: &Memory<'_>, sp: u64) -> Option<String> {
    let stack = image.stack(sp)?;
    let owner = (stack.from_last.zip(image.tasks))
        .and_then(|(from_last, tasks)| name(memory, tasks, tasks.count.checked_sub(from_last)?));
    Some(match owner {
        Some(owner) => format!("task {owner}"),
        None => stack.name.clone(),
    })
}

/// Text in memory, without what acts on whoever reads it. None if it is empty or cannot be read.
fn text(memory: &Memory<'_>, at: u64, length: u64) -> Option<String> {
    let bytes = bytes(memory, at, length)?;
    let text = String::from_utf8_lossy(&bytes);
    (!text.is_empty()).then(|| printable(&text).into_owned())
}

fn bytes(memory: &Memory<'_>, at: u64, length: u64) -> Option<Vec<u8>> {
    let byte = |at: u64| {
        let word = memory.word(at & !7)?;
        Some(word.to_le_bytes()[(at % 8) as usize])
    };
    (0..length)
        .map(|offset| byte(at.wrapping_add(offset)))
        .collect()
}
