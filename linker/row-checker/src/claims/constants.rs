//! Constants in code: what instructions load, and what symbols mark as data among them. Where control goes there all the same, they are code.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Claims;
use crate::architecture::Architecture;
use crate::graph::{Constant, Graph};
use crate::program::Program;

/// A range of words that may be constants.
#[derive(Debug)]
pub(super) struct Candidate {
    words: Range<u32>,
    /// The instructions that load some of them.
    loads: Vec<u32>,
    /// A symbol marks them as data.
    is_marked: bool,
}

impl Candidate {
    /// Finds the ranges, and takes each for constants at first.
    pub(super) fn find(
        program: &Program<'_>,
        architecture: &dyn Architecture,
        graph: &mut Graph,
    ) -> Vec<Self> {
        let of = |words, is_marked| Self {
            words,
            loads: Vec::new(),
            is_marked,
        };
        let marked = program.marked.iter();
        let marked = marked.map(|(start, end)| ((*start, *end), true));
        let mut all: BTreeMap<(u64, u64), Self> = marked
            .map(|(range, is_marked)| (range, of(graph.between(range.0, range.1), is_marked)))
            .collect();
        for number in 0..graph.nodes.len() as u32 {
            let at = graph.node(number).at;
            let Some((start, end)) = architecture.literal(program, at) else {
                continue;
            };
            let before = program.marked.partition_point(|(first, _)| *first <= start);
            let around = before.checked_sub(1).map(|place| program.marked[place]);
            let range = around.filter(|(_, last)| start < *last);
            all.entry(range.unwrap_or((start, end)))
                .or_insert_with(|| of(graph.between(start, end), false))
                .loads
                .push(number);
        }
        let all: Vec<Self> = all.into_values().collect();
        for one in &all {
            let constant = match one.loads.is_empty() {
                true => Constant::Marked,
                false => Constant::Loaded,
            };
            graph.mark(one.words.clone(), constant);
        }
        all
    }
}

impl Claims<'_> {
    /// Takes constants for code where control goes to one of a range, or where only code that nothing reaches loads one. Returns whether there
    /// are other constants than before.
    pub(super) fn find_constants(&mut self) -> bool {
        let mut is_new = false;
        let is_reached = |number: u32| self.is_reached[number as usize];
        let graph = &mut self.graph;
        self.constants.retain_mut(|one| {
            let is_entered = one.words.clone().any(is_reached);
            let is_loaded = one.loads.is_empty() || one.loads.iter().copied().any(is_reached);
            if is_loaded && !is_entered {
                return true;
            }
            is_new = true;
            one.loads.clear();
            let is_kept = one.is_marked && !is_entered;
            let constant = match is_kept {
                true => Constant::Marked,
                false => Constant::No,
            };
            graph.mark(one.words.clone(), constant);
            is_kept
        });
        is_new
    }
}
