//! The targets of a jump through a table.

use std::collections::{BTreeMap, BTreeSet};

use super::super::isa::Isa;
use super::super::table::Table;
use super::super::text::Text;
use super::Follow;

/// Linear sweeps: by a function's start, the instruction starts if its bytes are decoded one after another. Compilers put
/// nothing else between a function's instructions.
pub type Sweeps = BTreeMap<u64, Vec<u64>>;

impl<I: Isa> Follow<'_, I> {
    /// The targets of the jump at `at` through a table. `None`: they are not known.
    pub(super) fn table_targets(&mut self, at: u64, table: &Table) -> Option<BTreeSet<u64>> {
        let (text, world, isa) = (self.text, self.world, self.judge.isa);
        let start = self.start;
        let own = self
            .tables
            .addresses()
            .filter(|start| *start > table.address);
        let others = world.tables.range(table.address.saturating_add(1)..);
        let end = own.chain(others.copied().next()).min();
        let sweeps = &mut self.sweeps;
        let mut is_start = |to| {
            let Some(function) = world.function_at(to) else {
                return true;
            };
            let sweep = sweeps
                .entry(function.start)
                .or_insert_with(|| sweep(isa, text, function.start, function.end()));
            sweep.binary_search(&to).is_ok()
        };
        let address = |to| to & !I::INSTRUCTION_SET_BITS;
        let mut targets = table.targets(
            |address, size| text.read(address, size),
            |to| {
                let to = address(to);
                // A table of known length is read to its end, wherever its entries lead. One in an outlined part of a function
                // may lead back into the function.
                let is_own = || world.is_same_function(at, to) || world.is_same_function(start, to);
                text.code_at(to).is_some() && (table.is_bounded || is_own() && is_start(to))
            },
            end,
        )?;
        if !table.is_bounded {
            self.guessed.insert(at, targets.len());
            targets.truncate(self.most);
        }
        Some(targets.into_iter().map(address).collect())
    }
}

/// The starts of instructions, decoded one after another, up to the first bytes that are no instruction.
fn sweep<I: Isa>(isa: &I, text: &Text<'_>, mut at: u64, end: u64) -> Vec<u64> {
    let mut starts = Vec::new();
    while at < end {
        for length in isa.lengths(text.code_at(at).unwrap_or(&[]), at) {
            if at >= end {
                return starts;
            }
            starts.push(at);
            at += u64::from(length);
        }
        // A jump table, or constants.
        let Some(length) = text.data_at(at) else {
            break;
        };
        at += length;
    }
    starts
}

/// Whether any two different instructions in these blocks overlap.
pub(super) fn overlap<I: Isa>(
    isa: &I,
    text: &Text<'_>,
    blocks: impl Iterator<Item = (u64, u64)>,
) -> bool {
    let mut instructions: Vec<(u64, u64)> = blocks
        .flat_map(|(start, end)| {
            let starts = sweep(isa, text, start, end);
            let ends: Vec<u64> = starts.iter().skip(1).copied().chain([end]).collect();
            starts.into_iter().zip(ends)
        })
        .collect();
    instructions.sort_unstable();
    instructions.dedup();
    instructions
        .windows(2)
        .any(|pair| matches!(pair, [(_, end), (start, _)] if end > start))
}
