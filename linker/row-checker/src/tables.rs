//! Jump tables: every table that a function names is one of each of its indirect jumps.
//!
//! A table is read while its entries are instructions. After the last entry that leads into the function itself, entries that lead to other
//! declared functions count.
//! Entries too many only make less known.

mod reaching;
mod read;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::architecture::{Architecture, Convention};
use crate::graph::{Edge, Extents, Graph, Node, OUT};
use crate::instruction::{Effect, Flow, IndirectJump, Named, Operand, TableBase};
use crate::program::{Declared, Program, Section};
use read::{Found, Reader};

/// Instructions before a jump that may load its target.
const NEAR: usize = 12;

/// What is known of indirect jumps.
#[derive(Debug, Default)]
pub struct Jumps {
    /// Jumps by a pointer, as far as no table shows something else: with the state of an entry they are calls in the last place.
    pub by_pointer: FxHashSet<u32>,
    /// Jumps that may go to another place than a table of their function.
    pub open: FxHashSet<u32>,
    /// Jumps through tables of their function, and where the entries lead.
    pub tabled: FxHashMap<u32, Vec<u32>>,
    /// Addresses of words in data that are entries of tables, and of code that entries are counted from.
    pub explained: FxHashSet<u64>,
    /// Addresses of code that instructions name. Instructions that read their own address count only in functions with an indirect jump.
    pub named: Vec<Named>,
}

/// The extents of a function and of its parts elsewhere, and what their instructions name.
#[derive(Clone)]
struct Names {
    extents: BTreeSet<(u64, u64)>,
    code: BTreeSet<u64>,
    data: BTreeSet<u64>,
}

impl Names {
    fn contains(&self, address: u64) -> bool {
        let before = self.extents.range(..=(address, u64::MAX)).next_back();
        before.is_some_and(|(_, end)| address < *end)
    }
}

/// What the rest of the image tells of a table's end.
struct Others {
    /// Addresses of data that code names.
    starts: BTreeSet<u64>,
    /// See [`Reader::called`].
    called: FxHashSet<u64>,
    /// See [`Reader::named_again`].
    named_again: FxHashSet<u64>,
    convention: &'static Convention,
}

/// See [`Reader::called`].
fn called(program: &Program<'_>, graph: &Graph, convention: &Convention) -> FxHashSet<u64> {
    let callees = graph.nodes.iter().filter_map(Node::target_of_call);
    let callees = callees.map(|callee| graph.node(callee).at);
    let described = program.functions.iter().filter(|function| {
        let first = function.rows.first();
        program.described.binary_search(&function.start).is_ok()
            && first.is_some_and(|row| convention.is_row_of_call(row))
    });
    callees
        .chain(described.map(|function| function.start))
        .collect()
}

impl Jumps {
    /// Finds the targets of all indirect jumps, and adds the edges to them.
    pub fn find(
        program: &Program<'_>,
        architecture: &dyn Architecture,
        graph: &mut Graph,
        extents: &Extents,
    ) -> Self {
        let mut jumps = Self::default();
        let has_jump = |all: &[u32]| {
            all.iter()
                .any(|one| matches!(graph.node(*one).flow, Flow::IndirectJump | Flow::Unknown))
        };
        let parts = parts(graph, extents);
        let each: Vec<Names> = (extents.all.iter())
            .map(|(extent, all)| {
                jumps.names(program, architecture, graph, *extent, all, has_jump(all))
            })
            .collect();
        let mut named: Vec<(Names, &[u32])> = Vec::new();
        for (place, (_, all)) in extents.all.iter().enumerate() {
            if !has_jump(all) {
                continue;
            }
            let mut names = each[place].clone();
            // The address of a table may be in a register where control comes to the other part.
            for part in parts.get(&(place as u32)).into_iter().flatten() {
                let other = &each[*part as usize];
                names.extents.extend(&other.extents);
                names.code.extend(&other.code);
                names.data.extend(&other.data);
            }
            named.push((names, all));
        }
        // Tables of numbers of one or two bytes end where code names the next address.
        let starts: BTreeSet<u64> = each
            .iter()
            .flat_map(|names| names.data.iter().copied())
            .collect();
        let convention = architecture.convention();
        let called = called(program, graph, convention);
        let mut once = FxHashSet::default();
        let named_again = jumps.named.iter().map(|named| named.address);
        let named_again = named_again.filter(|address| !once.insert(*address));
        let others = Others {
            starts,
            called,
            named_again: named_again.collect(),
            convention,
        };
        let joins: FxHashSet<u32> = graph.nodes.iter().map(|node| node.target).collect();
        let entered = reaching::entered(program, graph);
        for (names, all) in &named {
            for &number in *all {
                match graph.node(number).flow {
                    Flow::IndirectJump => {}
                    // A far jump may lead to code of this image.
                    Flow::Unknown if !graph.node(number).is_padding => {
                        jumps.open.insert(number);
                        let heads = heads(program, graph, number);
                        graph.lead(number, &heads, Edge::Anywhere);
                        continue;
                    }
                    _ => continue,
                }
                let at = graph.node(number).at;
                let jump = architecture.indirect_jump(program, at, &before(graph, &joins, number));
                // The addresses of its table, if the code shows all of them.
                let known = jump.pointer.and_then(|(at, register)| {
                    let load = graph.at(at)?;
                    reaching::addresses(graph, convention, &entered, all, load, register)
                });
                match known {
                    Some(data) => {
                        let names = Names {
                            data,
                            ..names.clone()
                        };
                        jumps.find_targets(program, graph, (&names, true), &others, number, &jump);
                    }
                    None => {
                        jumps.find_targets(program, graph, (names, false), &others, number, &jump)
                    }
                }
            }
        }
        jumps
    }

    fn names(
        &mut self,
        program: &Program<'_>,
        architecture: &dyn Architecture,
        graph: &Graph,
        extent: Declared,
        all: &[u32],
        has_jump: bool,
    ) -> Names {
        let nodes = all.iter().map(|number| graph.node(*number));
        let addresses: Vec<u64> = nodes
            .filter(|node| node.may_name)
            .map(|node| node.at)
            .collect();
        let mut names = Names {
            extents: BTreeSet::from([(extent.start, extent.end)]),
            code: BTreeSet::new(),
            data: BTreeSet::new(),
        };
        for named in architecture.named(program, &addresses) {
            let Some(section) = program.section(named.address) else {
                continue;
            };
            if !section.is_code {
                names.data.insert(named.address);
                continue;
            }
            names.code.insert(named.address);
            let own = graph
                .at(named.at)
                .map_or(0, |number| graph.node(number).length);
            // Code that reads its own address does not name a jump target, unless the function jumps to a computed address.
            let is_own = [named.at, named.at + u64::from(own)].contains(&named.address);
            if !is_own || !named.is_relative || has_jump {
                self.named.push(named);
            }
        }
        names
    }

    fn find_targets(
        &mut self,
        program: &Program<'_>,
        graph: &mut Graph,
        (names, is_known): (&Names, bool),
        others: &Others,
        number: u32,
        jump: &IndirectJump,
    ) {
        let reader = Reader {
            program,
            graph,
            names,
            starts: &others.starts,
            called: &others.called,
            named_again: &others.named_again,
            counts_from_labels: jump.counts_from_labels,
        };
        let mut found = Found::default();
        for form in &jump.forms {
            match jump.table {
                Some(table) => reader.read(form, table, true, &mut found),
                None => {
                    let in_code = names.code.iter();
                    let in_code = in_code.filter(|_| !is_known || form.base == TableBase::Zero);
                    for table in names.data.iter().chain(in_code) {
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
        if !has_own || !jump.is_indexed {
            self.open.insert(number);
            let is_linkage = |section: &Section<'_>| section.is_linkage;
            if !program
                .section(graph.node(number).at)
                .is_some_and(is_linkage)
            {
                // If the jump reads a table of numbers, and no table is found, an entry may lead to the middle of a block.
                let is_computed = jump.is_computed
                    || jump.counts_from_labels && !has_own
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
            let targets: Vec<u32> = (targets.into_iter())
                .filter_map(|target| graph.at(target))
                .collect();
            for &to in &targets {
                graph.add(number, to, Edge::Table);
            }
            self.tabled.insert(number, targets);
        }
    }
}

/// The instructions of a jump's function.
fn own(program: &Program<'_>, graph: &Graph, jump: u32) -> std::ops::Range<u32> {
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
fn heads(program: &Program<'_>, graph: &Graph, jump: u32) -> BTreeSet<u32> {
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

/// The extents that are parts of each function: one has a jump into the middle of the other. By their places in [`Extents::all`].
fn parts(graph: &Graph, extents: &Extents) -> FxHashMap<u32, BTreeSet<u32>> {
    let mut parts: FxHashMap<u32, BTreeSet<u32>> = FxHashMap::default();
    for (node, &from) in graph.nodes.iter().zip(&extents.of) {
        if !matches!(node.flow, Flow::Jump | Flow::Branch) || node.target == OUT {
            continue;
        }
        let to = extents.of[node.target as usize];
        let start = extents.all[to as usize].0.start;
        if from != to && start != graph.node(node.target).at {
            parts.entry(from).or_default().insert(to);
            parts.entry(to).or_default().insert(from);
        }
    }
    parts
}

/// The addresses of the instructions before a jump, in the same block: the nearest first. `joins`: targets of branches.
fn before(graph: &Graph, joins: &FxHashSet<u32>, number: u32) -> Vec<u64> {
    let mut all = Vec::new();
    let mut last = number;
    while let Some(before) = last.checked_sub(1) {
        let node = graph.node(before);
        if node.next != last
            || !matches!(node.flow, Flow::Next | Flow::Branch)
            || all.len() == NEAR
            || joins.contains(&last)
        {
            break;
        }
        all.push(node.at);
        last = before;
    }
    all
}
