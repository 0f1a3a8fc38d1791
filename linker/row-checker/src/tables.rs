//! Finds the jump tables of indirect jumps: those at the addresses that the register of the jump's load has, or, if the code does not show
//! these addresses, all tables that the function names.
//!
//! A table is read while its entries are instructions. After the last entry that leads into the function itself, entries that lead to other
//! declared functions count.
//! Entries too many only make less known.

mod reaching;
mod read;
mod targets;

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::architecture::{Architecture, Convention};
use crate::graph::{Edge, Extents, Graph, Node, OUT};
use crate::instruction::{Flow, IndirectJump, Named};
use crate::program::{Declared, Program};
use reaching::Reaching;
use targets::{Known, heads};

/// Instructions before a jump that are searched for the load of its target, and for multiplications of the load's index.
const NEAR: usize = 64;

/// What is known of indirect jumps.
#[derive(Debug, Default)]
pub struct Jumps {
    /// Jumps by a pointer, as far as no table shows something else: with the state of an entry they are calls in the last place.
    pub by_pointer: FxHashSet<u32>,
    /// Jumps that may go to another place than a table of their function.
    pub open: FxHashSet<u32>,
    /// Jumps through tables of their function, and where the entries lead.
    pub tabled: FxHashMap<u32, Vec<u32>>,
    /// Addresses of words in data that are entries of tables.
    pub explained: FxHashSet<u64>,
    /// Addresses of instructions that name code which entries are counted from.
    pub explained_names: FxHashSet<u64>,
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
        let others = Others {
            starts,
            called,
            convention,
        };
        let joins: FxHashSet<u32> = graph.nodes.iter().map(|node| node.target).collect();
        let mut all_jumps: Vec<(usize, u32, IndirectJump)> = Vec::new();
        for (function, (_, all)) in named.iter().enumerate() {
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
                all_jumps.push((function, number, jump));
            }
        }
        // The edges of one jump may bring a different table to another jump.
        let mut is_last = false;
        let mut named_at: FxHashMap<u32, BTreeSet<u64>> = FxHashMap::default();
        loop {
            let entered = reaching::entered(program, graph, &jumps.named);
            let returning = reaching::returning(program, graph);
            let mut is_new = false;
            for chunk in all_jumps.chunk_by(|one, other| one.0 == other.0) {
                let (names, all) = &named[chunk[0].0];
                let reaching = Reaching::new(program, graph, convention, &entered, &returning, all);
                for (_, number, jump) in chunk {
                    // The registers of the target may be set in several other blocks.
                    let elsewhere = (jump.register.filter(|_| !jump.is_indexed))
                        .map(|register| reaching.values(graph, *number, register))
                        .filter(|found| {
                            let mut targets = found.all.iter();
                            let is_own = targets.all(|target| {
                                names.contains(*target) && graph.at(*target).is_some()
                            });
                            let is_empty = found.all.is_empty() && found.others.is_empty();
                            is_own && !found.is_partial && !(is_empty && is_last)
                        });
                    let mut found = elsewhere.clone().unwrap_or_default();
                    let at = graph.node(*number).at;
                    let other = |setter: &u32| {
                        let mut before = before(graph, &joins, *setter);
                        before.insert(0, graph.node(*setter).at);
                        architecture.indirect_jump(program, at, &before)
                    };
                    let all: Vec<IndirectJump> = match elsewhere {
                        Some(_) => found.others.iter().map(other).collect(),
                        None => vec![jump.clone()],
                    };
                    if !found.all.is_empty() {
                        is_new |= jumps.add_table(graph, *number, &found.all);
                    }
                    for jump in &all {
                        let known = Known::of(graph, &reaching, names, jump);
                        if known.is_unreached() && !is_last {
                            continue;
                        }
                        let places = (names, &known);
                        is_new |=
                            jumps.find_targets(program, graph, places, &others, *number, jump);
                        found.by.extend(&known.named_at);
                    }
                    let by = found.by.iter().copied();
                    let by = by.filter(|at| {
                        graph
                            .at(*at)
                            .is_some_and(|number| !reaching.escapes(graph, number))
                    });
                    named_at.insert(*number, by.collect());
                }
            }
            if !is_new && is_last {
                break;
            }
            is_last |= !is_new;
        }
        named_at.retain(|number, _| !jumps.open.contains(number));
        jumps.explained_names = named_at.into_values().flatten().collect();
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
