//! Which addresses a register may have, by the instructions of its function that set the register.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::architecture::Convention;
use crate::graph::{Graph, OUT};
use crate::instruction::{Effect, Flow, Operand, Register};
use crate::program::Program;

/// Instructions of functions to which control also comes from outside: by jumps, calls and landing pads, and by addresses that are taken.
pub(super) fn entered(program: &Program<'_>, graph: &Graph) -> FxHashSet<u32> {
    let mut entered: FxHashSet<u32> = program
        .taken
        .iter()
        .map(|(address, _)| *address)
        .chain([program.entry])
        .filter_map(|address| graph.at(address))
        .collect();
    let extents: Vec<u64> = (graph.nodes.iter())
        .map(|node| program.extent(node.at).start)
        .collect();
    for (number, node) in graph.nodes.iter().enumerate() {
        if extents[number] == node.at {
            entered.insert(number as u32);
        }
        if node.flow == Flow::Call {
            entered.insert(node.target);
        }
        graph.successors(number as u32, true, |to, _| {
            if to != OUT && extents[to as usize] != extents[number] {
                entered.insert(to);
            }
        });
    }
    entered
}

/// Returns the addresses that a register may have before an instruction. `own` has the instructions of its function. `None`: the register may
/// have another value. Indirect jumps of the function may go to any of its instructions.
pub(super) fn addresses(
    graph: &Graph,
    convention: &Convention,
    entered: &FxHashSet<u32>,
    own: &[u32],
    use_at: u32,
    register: Register,
) -> Option<BTreeSet<u64>> {
    let mut before: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let mut work = vec![use_at];
    for &number in own {
        graph.successors(number, true, |to, _| {
            before.entry(to).or_default().push(number);
        });
        if graph.node(number).flow == Flow::IndirectJump {
            work.push(number);
        }
    }
    let mut is_seen: FxHashSet<u32> = work.iter().copied().collect();
    let mut found = BTreeSet::new();
    while let Some(number) = work.pop() {
        if entered.contains(&number) {
            return None;
        }
        for &number in before.get(&number).into_iter().flatten() {
            let node = graph.node(number);
            let is_call = matches!(node.flow, Flow::Call | Flow::IndirectCall);
            if is_call && !convention.keeps(register) || node.is_conditional {
                return None;
            }
            let mut sets = graph
                .effects(number)
                .iter()
                .filter_map(|effect| match effect {
                    Effect::Set(to, value) if *to == register => Some(value),
                    _ => None,
                });
            match sets.next() {
                Some(Operand::Address(address)) => {
                    found.insert(*address);
                }
                Some(_) => return None,
                None if is_seen.insert(number) => work.push(number),
                None => {}
            }
        }
    }
    Some(found)
}
