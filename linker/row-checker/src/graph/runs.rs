//! Runs of instructions of which one condition tells which are executed (32-bit ARM).
//!
//! `popne {r4, lr}` and `bne f` after it are both executed, or none of them. Followed one by one, the branch would have the stack pointer of
//! either way.

use rustc_hash::FxHashMap;

use super::{Graph, Node, Predecessors};
use crate::instruction::Flow;

/// Instructions that follow each other, of which all but the last keep the flags, and which control enters at the first one only. The first
/// and the last one have a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The number of the first instruction.
    pub first: u32,
    /// The number of the last instruction.
    pub last: u32,
    condition: u8,
}

impl Run {
    /// Whether an instruction of the run is executed if the condition of the first one holds, or if it does not hold.
    #[must_use]
    pub fn executes(&self, node: &Node, holds: bool) -> bool {
        let is_same = |condition| (condition == self.condition) == holds;
        node.condition.is_none_or(is_same)
    }
}

/// All runs of an image.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// By each of their instructions.
    all: FxHashMap<u32, Run>,
}

impl Runs {
    /// Finds the runs. `is_entered` tells for each instruction whether control enters it otherwise than by edges.
    #[must_use]
    pub fn find(graph: &Graph, before: &Predecessors, is_entered: &[bool]) -> Self {
        let mut all = FxHashMap::default();
        let mut number = 0;
        while (number as usize) < graph.nodes.len() {
            if let Some(run) = run_from(graph, before, is_entered, number) {
                all.extend((run.first..=run.last).map(|inside| (inside, run)));
                number = run.last;
            }
            number += 1;
        }
        Self { all }
    }

    /// The run that an instruction is part of.
    #[must_use]
    pub fn of(&self, number: u32) -> Option<Run> {
        self.all.get(&number).copied()
    }
}

fn run_from(graph: &Graph, before: &Predecessors, is_entered: &[bool], first: u32) -> Option<Run> {
    let condition = graph.node(first).condition?;
    let mut last = first;
    let mut number = first;
    loop {
        let node = graph.node(number);
        let next = number + 1;
        let is_plain = node.flow == Flow::Next && node.keeps_flags && !node.has_more;
        if !is_plain
            || node.next != next
            || is_entered[next as usize]
            || before.of(next).iter().any(|from| *from != number)
        {
            break;
        }
        let node = graph.node(next);
        match node.condition {
            // The lowest bit inverts a condition.
            Some(other) if other | 1 == condition | 1 => last = next,
            None if !node.is_conditional => {}
            _ => break,
        }
        number = next;
    }
    (first < last).then_some(Run {
        first,
        last,
        condition,
    })
}
