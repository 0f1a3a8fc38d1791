//! From functions to the addresses at which something else holds than before.

use unwind::Rules;
use unwind::map::format;

use super::rule::{State, Stored, store};
use super::unfit::Unfit;
use crate::function::Function;
use crate::unproven::Unproven;

/// An address from which on something else holds than before, or at which a function begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) address: u64,
    /// A function begins here, or ends where none follows.
    pub(super) begins: bool,
    pub(super) rule: Stored,
}

/// The changes of functions, which ascend by start, and their end. `unit` is the number of bytes that instructions are aligned to,
/// as a power of two, `word` that of a word.
/// With `joins`, functions are one that are parts of one. Rows of `unproven` code are marked.
pub(super) fn changes(
    functions: &[Function],
    unit: u8,
    word: i64,
    joins: bool,
    unproven: &Unproven,
) -> Result<Vec<Change>, Unfit> {
    let mut changes = Vec::new();
    let (mut end, mut first): (Option<u64>, usize) = (None, 0);
    for function in functions.iter().filter(|function| function.size > 0) {
        if let Some(end) = end {
            if function.start < end {
                return Err(Unfit::Overlap(function.start));
            }
            if function.start > end {
                changes.push(nothing(end));
            }
        }
        let is_next = end == Some(function.start);
        let after = function.start.checked_add(function.size.into());
        // One more address is needed: that of the end.
        end = Some(after.ok_or(Unfit::TooLarge)?);
        let before = changes.len();
        add(function, word, unproven, &mut changes)?;
        match changes.get_mut(before) {
            Some(change) if is_next && joins && function.continues => change.begins = false,
            _ => first = before,
        }
        if changes.len() - first >= format::MAX_CHANGES {
            return Err(Unfit::TooManyChanges(function.start));
        }
    }
    changes.extend(end.map(nothing));
    let aligned = |address: u64| address & ((1 << unit) - 1) == 0;
    match changes.iter().find(|change| !aligned(change.address)) {
        Some(change) => Err(Unfit::Unaligned(change.address)),
        None => Ok(changes),
    }
}

/// The change at the end of a function that no other one follows.
fn nothing(address: u64) -> Change {
    Change {
        address,
        begins: true,
        rule: store(&State::Nothing, 1).expect("it has no offset"),
    }
}

/// Adds the changes of a function.
fn add(
    function: &Function,
    word: i64,
    unproven: &Unproven,
    changes: &mut Vec<Change>,
) -> Result<(), Unfit> {
    let signal = function.signal;
    if function.rows.is_empty() {
        changes.push(Change {
            address: function.start,
            begins: true,
            rule: store(&State::NoRows { signal }, word).expect("it has no offset"),
        });
        return Ok(());
    }
    // Rows of a repeated block are written out: a map has no blocks.
    let block = function.block.map_or(function.size, u32::from).max(1);
    let mut last: Option<Stored> = None;
    for start in (0..function.size).step_by(block as usize) {
        let rows = function.rows.iter().take_while(|row| row.offset < block);
        let ends = rows.clone().skip(1).map(|row| row.offset).chain([block]);
        for (row, end) in rows.zip(ends) {
            let offset = start.checked_add(row.offset).ok_or(Unfit::TooLarge)?;
            if offset >= function.size {
                continue;
            }
            let end = start.saturating_add(end).min(function.size);
            let address = function.start + u64::from(offset);
            let changed = unproven.changes(address, function.start + u64::from(end));
            for address in std::iter::once(address).chain(changed) {
                let state = State::Row {
                    rules: Rules::from(row),
                    kept: row.kept,
                    signal,
                    proof: Unproven::proof(Some(unproven), address),
                };
                let rule = store(&state, word).ok_or(Unfit::Offset(address))?;
                if last != Some(rule) {
                    changes.push(Change {
                        address,
                        begins: last.is_none(),
                        rule,
                    });
                }
                last = Some(rule);
            }
        }
    }
    Ok(())
}
