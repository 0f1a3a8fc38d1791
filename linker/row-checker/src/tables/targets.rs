//! Adds the edges from an indirect jump to its targets.

use std::collections::BTreeSet;

use super::reaching::Reaching;
use super::read::{Found, Reader};
use super::{Jumps, Names, Others};
use crate::architecture::Convention;
use crate::graph::{Edge, Graph};
use crate::instruction::{Effect, Flow, IndirectJump, Operand, Register};
use crate::program::{Program, Section};

/// What the code shows of the addresses from which a jump reads and computes its target. `None`: there may be others.
pub(super) struct Known {
    /// The addresses of its tables.
    tables: Option<BTreeSet<u64>>,
    /// The addresses that are added to an entry.
    labels: Option<BTreeSet<u64>>,
    /// The instructions that compute the latter.
    pub(super) named_at: BTreeSet<u64>,
}

impl Known {
    /// What the instructions show that set the registers of a jump.
    pub(super) fn of(
        graph: &Graph,
        reaching: &Reaching<'_>,
        names: &Names,
        jump: &IndirectJump,
    ) -> Self {
        let addresses = |(at, register): (u64, Register)| {
            let mut found = reaching.addresses(graph, graph.at(at)?, register)?;
            // Functions keep addresses on the stack while they call others, and paths behind calls that never return are none.
            if found.is_partial {
                found.all.extend(names.data.iter().chain(&names.code));
            }
            Some(found)
        };
        let labels = jump.label.and_then(addresses);
        Self {
            tables: match jump.table {
                Some(table) => Some(BTreeSet::from([table])),
                None => jump.pointer.and_then(addresses).map(|found| found.all),
            },
            named_at: labels
                .as_ref()
                .map_or_else(BTreeSet::new, |found| found.by.clone()),
            labels: labels.map(|found| found.all),
        }
    }

    /// Whether no instruction is known that sets a register of the jump, because no edge to the jump is known yet.
    pub(super) fn is_unreached(&self) -> bool {
        let is_empty = |all: &Option<BTreeSet<u64>>| all.as_ref().is_some_and(BTreeSet::is_empty);
        is_empty(&self.tables) || is_empty(&self.labels)
    }
}

impl Jumps {
    /// Adds the edges of a jump, as far as is known of its tables. Returns whether an edge is new.
    pub(super) fn find_targets(
        &mut self,
        program: &Program<'_>,
        graph: &mut Graph,
        (names, known): (&Names, &Known),
        others: &Others,
        number: u32,
        jump: &IndirectJump,
    ) -> bool {
        let reader = Reader {
            program,
            graph,
            names,
            labels: known.labels.as_ref(),
            starts: &others.starts,
            called: &others.called,
        };
        let mut found = Found::default();
        for form in &jump.forms {
            match &known.tables {
                Some(tables) => {
                    for table in tables {
                        reader.read(form, *table, jump.table.is_some(), &mut found);
                    }
                }
                None => {
                    for table in names.data.iter().chain(&names.code) {
                        reader.read(form, *table, false, &mut found);
                    }
                }
            }
        }
        self.explained.extend(found.explained);
        let targets = found.targets;
        if !jump.is_import && !jump.is_indexed {
            self.by_pointer.insert(number);
        }
        let has_own = targets.iter().any(|target| names.contains(*target));
        let is_known = known.tables.is_some() && (jump.label.is_none() || known.labels.is_some());
        let mut is_new = false;
        if (!has_own || !jump.is_indexed || !is_known) && self.open.insert(number) {
            is_new = true;
            let is_linkage = |section: &Section<'_>| section.is_linkage;
            if !program
                .section(graph.node(number).at)
                .is_some_and(is_linkage)
            {
                // An entry that was not read, of a table of numbers, may lead to the middle of a block.
                let is_computed = jump.is_computed
                    || jump.counts_from_labels
                    || sets_by_sum(
                        graph,
                        others.convention,
                        own(program, graph, number),
                        jump.unset,
                    );
                let heads = match is_computed {
                    true => own(program, graph, number).collect(),
                    false => heads(program, graph, number),
                };
                graph.lead(number, &heads, Edge::Anywhere);
            }
        }
        if has_own {
            is_new |= self.add_table(graph, number, &targets);
        }
        is_new
    }

    /// Adds the edges of a jump to its targets. Returns whether an edge is new.
    pub(super) fn add_table(
        &mut self,
        graph: &mut Graph,
        number: u32,
        targets: &BTreeSet<u64>,
    ) -> bool {
        let targets = targets.iter().filter_map(|target| graph.at(*target));
        let targets: Vec<u32> = targets.collect();
        let known = self.tabled.get(&number);
        if known.is_some_and(|known| targets.iter().all(|to| known.binary_search(to).is_ok())) {
            return false;
        }
        let mut is_new = false;
        for &to in &targets {
            is_new |= graph.add(number, to, Edge::Table);
        }
        let tabled = self.tabled.entry(number).or_default();
        tabled.extend(targets);
        tabled.sort_unstable();
        tabled.dedup();
        is_new
    }
}

/// The instructions of a jump's function.
pub(super) fn own(program: &Program<'_>, graph: &Graph, jump: u32) -> std::ops::Range<u32> {
    let extent = program.extent(graph.node(jump).at);
    graph.between(extent.start, extent.end)
}

/// Whether an instruction sets one of these registers (a bit for each), or a register that is copied to one, by arithmetic or from the stack.
fn sets_by_sum(
    graph: &Graph,
    convention: &Convention,
    numbers: std::ops::Range<u32>,
    mut registers: u64,
) -> bool {
    let is_stack = |base| base == convention.stack_pointer || base == convention.frame_pointer;
    loop {
        let before = registers;
        let numbers = numbers
            .clone()
            .filter(|number| graph.node(*number).flow == Flow::Next);
        for effect in numbers.flat_map(|number| graph.effects(number)) {
            let Effect::Set(to, value) = effect else {
                continue;
            };
            if *to >= 64 || registers >> to & 1 == 0 {
                continue;
            }
            match *value {
                Operand::Sum(from, 0) if from < 64 => registers |= 1 << from,
                Operand::Load(base, _) if !is_stack(base) => {}
                Operand::Word | Operand::Address(_) | Operand::Number(_) => {}
                _ => return true,
            }
        }
        if registers == before {
            return false;
        }
    }
}

/// The instructions of a jump's function to which control comes from other instructions than the one before.
pub(super) fn heads(program: &Program<'_>, graph: &Graph, jump: u32) -> BTreeSet<u32> {
    let own = own(program, graph, jump);
    let mut heads = BTreeSet::new();
    for number in own.clone() {
        let node = graph.node(number);
        if matches!(node.flow, Flow::Jump | Flow::Branch | Flow::Call) {
            heads.insert(node.target);
        }
        let continues = matches!(
            node.flow,
            Flow::Next | Flow::Halt | Flow::Call | Flow::IndirectCall
        );
        if !continues || node.is_conditional {
            heads.insert(node.next);
        }
    }
    heads.retain(|head| own.contains(head));
    heads
}
