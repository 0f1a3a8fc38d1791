//! The functions of instructions, by their extents.

use std::collections::BTreeMap;

use super::Graph;
use crate::program::{Declared, Program};

/// The instructions of each function, by its extent. Code that nothing declares is a function of 0 bytes.
#[derive(Debug)]
pub struct Extents {
    /// The extents, ascending, with the numbers of their instructions.
    pub all: Vec<(Declared, Vec<u32>)>,
    /// For each instruction: the place of its extent in `all`.
    pub of: Vec<u32>,
}

impl Extents {
    /// Finds the extents of all instructions.
    #[must_use]
    pub fn of(program: &Program<'_>, graph: &Graph) -> Self {
        // From one of these addresses to the next one, all bytes have the same extent.
        let functions = program.functions.iter().map(|one| [one.start, one.end]);
        let others = program.symbols.iter().chain(&*program.declared);
        let bounds = functions.chain(others.map(|one| [one.start, one.end]));
        let mut bounds: Vec<u64> = bounds.flatten().collect();
        bounds.sort_unstable();
        let mut bounds = bounds.into_iter().peekable();
        let mut extents: BTreeMap<Declared, Vec<u32>> = BTreeMap::new();
        let mut first = 0;
        while let Some(start) = graph.nodes.get(first) {
            let extent = program.extent(start.at);
            while bounds.next_if(|bound| *bound <= start.at).is_some() {}
            let rest = &graph.nodes[first..];
            let count = match bounds.peek() {
                Some(end) if extent.start < extent.end => {
                    rest.partition_point(|node| node.at < *end)
                }
                _ => 1,
            };
            let numbers = first as u32..(first + count) as u32;
            extents.entry(extent).or_default().extend(numbers);
            first += count;
        }
        let all: Vec<(Declared, Vec<u32>)> = extents.into_iter().collect();
        let mut of = vec![0; graph.nodes.len()];
        for (place, (_, numbers)) in all.iter().enumerate() {
            for number in numbers {
                of[*number as usize] = place as u32;
            }
        }
        Self { all, of }
    }
}
