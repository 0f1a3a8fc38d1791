//! Reads a jump table.

use std::collections::BTreeSet;

use super::Names;
use rustc_hash::FxHashSet;

use crate::graph::Graph;
use crate::instruction::{Flow, TableBase, TableForm};
use crate::program::Program;

/// What tables of a function are read by.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) graph: &'a Graph,
    pub(super) names: &'a Names,
    /// Addresses to which entries are added. `None`: those of the table, and of code that the function names.
    pub(super) labels: Option<&'a BTreeSet<u64>>,
    /// Addresses of data that code names: tables of numbers end there.
    pub(super) starts: &'a BTreeSet<u64>,
    /// Addresses of functions that are called directly, or whose call frame information starts with the row of a call.
    pub(super) called: &'a FxHashSet<u64>,
}

/// What was read.
#[derive(Default)]
pub(super) struct Found {
    /// Where the entries lead.
    pub(super) targets: BTreeSet<u64>,
    /// Addresses of the entries, if these are addresses.
    pub(super) explained: Vec<u64>,
}

impl Reader<'_> {
    /// Reads a table in one form. `is_fixed`: the jump itself names it.
    pub fn read(&self, form: &TableForm, table: u64, is_fixed: bool, found: &mut Found) {
        let Self {
            program,
            graph,
            names,
            labels,
            starts,
            called,
        } = *self;
        let bases: Vec<u64> = match form.base {
            TableBase::Inline => return inline(graph, table, &mut found.targets),
            TableBase::Zero => vec![0],
            TableBase::At(address) => vec![address],
            TableBase::Named => match labels {
                Some(labels) => labels.iter().copied().collect(),
                None => std::iter::once(table)
                    .chain(names.code.iter().copied())
                    .collect(),
            },
        };
        let is_in_code = program.code(table).is_some();
        for base in bases {
            let mut entries: Vec<u64> = Vec::new();
            let mut at = table;
            while let Some(entry) = entry(program, form, at) {
                // A table in code is part of its function.
                let is_next = form.size < 4 && at != table && starts.contains(&at)
                    || is_in_code && !names.contains(at);
                let target = base.wrapping_add(entry.wrapping_mul(form.scale.into()) as u64);
                let target = program.instruction_at(target);
                // A small table may lead to functions that nothing calls. Bytes behind it lead to others by chance.
                let is_other =
                    program.is_start(target) && (form.size >= 4 || !called.contains(&target));
                let is_target = graph.at(target).is_some() && (names.contains(target) || is_other);
                if is_next || !is_target {
                    break;
                }
                entries.push(target);
                at += u64::from(form.size);
            }
            // Parts of the function that lie elsewhere may come last. Words behind a table of addresses may be those of other functions.
            let last = entries.iter().rposition(|target| names.contains(*target));
            let own = last.map_or(0, |last| last + 1);
            let may_be_others = form.base == TableBase::Zero;
            let is_part = |target: &&u64| own > 0 && !(may_be_others && called.contains(target));
            let parts = entries[own..].iter().take_while(is_part).count();
            entries.truncate(own + parts);
            let is_table = match form.base {
                TableBase::Zero => {
                    is_fixed || entries.first().is_some_and(|first| names.contains(*first))
                }
                _ => entries.iter().take(8).any(|target| names.contains(*target)),
            };
            if !is_table {
                continue;
            }
            if form.base == TableBase::Zero {
                let size = u64::from(form.size);
                // A word that leads to another function may also be the pointer by which it is called.
                let words = (0u64..).map(|index| table + index * size).zip(&entries);
                let words = words.filter(|(_, target)| names.contains(**target));
                found.explained.extend(words.map(|(word, _)| word));
            }
            found.targets.extend(entries);
        }
    }
}

/// Reads a table of branches, and the instruction behind the last one.
fn inline(graph: &Graph, table: u64, targets: &mut BTreeSet<u64>) {
    let mut next = graph.at(table);
    while let Some(number) = next {
        let node = graph.node(number);
        targets.insert(node.at);
        next = (node.flow == Flow::Jump)
            .then(|| graph.at(node.at + u64::from(node.length)))
            .flatten();
    }
}

/// The entry at an address.
fn entry(program: &Program<'_>, form: &TableForm, at: u64) -> Option<i64> {
    let bytes = program.bytes(at)?.get(..form.size.into())?;
    let mut number = bytes
        .iter()
        .rev()
        .fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    if form.signed {
        let unused = 64 - 8 * u32::from(form.size);
        number = ((number << unused).cast_signed() >> unused).cast_unsigned();
    }
    Some(number.cast_signed())
}
