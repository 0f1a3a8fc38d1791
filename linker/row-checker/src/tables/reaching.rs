//! Which addresses a register may have, by the instructions of its function that set the register.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::architecture::Convention;
use crate::graph::{Edge, Graph, Node, OUT};
use crate::instruction::{Effect, Flow, Named, Operand, Register, Size};
use crate::program::Program;

/// Instructions of functions to which control also comes from outside: by jumps, calls and landing pads, and by addresses that data contains
/// or that code names.
pub(super) fn entered(program: &Program<'_>, graph: &Graph, named: &[Named]) -> FxHashSet<u32> {
    let mut entered: FxHashSet<u32> = program
        .taken
        .iter()
        .map(|(address, _)| *address)
        .chain([program.entry])
        .chain(named.iter().map(|named| named.address))
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

/// The function that an instruction calls directly. Code that is not declared may change its return address, as thunks do.
fn declared_callee(program: &Program<'_>, graph: &Graph, node: &Node) -> Option<u32> {
    let callee = node.target_of_call()?;
    program.is_start(graph.node(callee).at).then_some(callee)
}

/// For each instruction, whether a return or an indirect jump can be reached from it, over calls of functions of which the same is true.
pub(super) fn returning(program: &Program<'_>, graph: &Graph) -> Vec<bool> {
    let count = graph.nodes.len() as u32;
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); graph.nodes.len()];
    let mut calls: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let mut work: Vec<u32> = Vec::new();
    for number in 0..count {
        let node = graph.node(number);
        let mut is_out = matches!(
            node.flow,
            Flow::Return | Flow::TrapReturn | Flow::IndirectJump | Flow::Unknown
        );
        let callee = declared_callee(program, graph, node);
        graph.successors(number, true, |to, edge| match (to, callee) {
            (OUT, _) => is_out = true,
            (_, Some(callee)) if edge == Edge::AfterCall => {
                calls.entry(callee).or_default().push(number);
            }
            _ => before[to as usize].push(number),
        });
        if is_out {
            work.push(number);
        }
    }
    let mut returning = vec![false; graph.nodes.len()];
    while let Some(number) = work.pop() {
        if std::mem::replace(&mut returning[number as usize], true) {
            continue;
        }
        work.extend(&before[number as usize]);
        // A call continues if its callee may return, and the code after the call may.
        let is_after = |call: &u32| {
            let next = graph.node(*call).next;
            next != OUT && returning[next as usize]
        };
        let of_callee = calls.get(&number).into_iter().flatten();
        work.extend(of_callee.copied().filter(is_after));
        let call = number
            .checked_sub(1)
            .filter(|call| graph.node(*call).next == number);
        work.extend(call.filter(|call| {
            let callee = declared_callee(program, graph, graph.node(*call));
            callee.is_some_and(|callee| returning[callee as usize])
        }));
    }
    returning
}

/// Instructions that the search for the values of one register visits at most, so that large functions with many jumps take little time.
const MOST_PLACES: usize = 20_000;

/// The addresses that a register may have.
#[derive(Clone, Default)]
pub(super) struct Addresses {
    pub(super) all: BTreeSet<u64>,
    /// The instructions that compute them.
    pub(super) by: BTreeSet<u64>,
    /// The instructions that compute or load another value.
    pub(super) others: BTreeSet<u32>,
    /// The register may also have a value that is not followed: of a word of the stack, from outside of the function, or from a callee.
    pub(super) is_partial: bool,
}

/// A function, with the instructions before each of its instructions.
pub(super) struct Reaching<'a> {
    program: &'a Program<'a>,
    convention: &'static Convention,
    entered: &'a FxHashSet<u32>,
    before: FxHashMap<u32, Vec<u32>>,
}

impl<'a> Reaching<'a> {
    /// `own` has the instructions of the function. `entered`, `returning`: see [`entered`], [`returning`].
    pub(super) fn new(
        program: &'a Program<'a>,
        graph: &Graph,
        convention: &'static Convention,
        entered: &'a FxHashSet<u32>,
        returning: &[bool],
        own: &[u32],
    ) -> Self {
        let mut before: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for &number in own {
            let callee = declared_callee(program, graph, graph.node(number));
            let returns = callee.is_none_or(|callee| returning[callee as usize]);
            graph.successors(number, true, |to, edge| {
                if returns || edge != Edge::AfterCall {
                    before.entry(to).or_default().push(number);
                }
            });
        }
        Self {
            program,
            convention,
            entered,
            before,
        }
    }

    /// Whether a call leads through a pointer, or to another image.
    fn is_foreign(&self, graph: &Graph, call: &Node) -> bool {
        call.target_of_call().is_none_or(|callee| {
            let section = self.program.section(graph.node(callee).at);
            section.is_some_and(|section| section.is_linkage)
        })
    }

    /// Returns the addresses that a register may have before an instruction, on the edges that are known. `None`: no address is found, but
    /// the register may have another value.
    pub(super) fn addresses(
        &self,
        graph: &Graph,
        use_at: u32,
        register: Register,
    ) -> Option<Addresses> {
        let mut found = self.values(graph, use_at, register);
        found.is_partial |= !found.others.is_empty();
        (!found.is_partial || !found.all.is_empty()).then_some(found)
    }

    /// Returns the same, with the instructions that set the register to another value.
    pub(super) fn values(&self, graph: &Graph, use_at: u32, wanted: Register) -> Addresses {
        let is_stack = |base: Register| {
            [self.convention.stack_pointer, self.convention.frame_pointer].contains(&base)
        };
        let mut work = vec![(use_at, wanted, 0_i64)];
        let mut is_seen: FxHashSet<(u32, Register, i64)> = work.iter().copied().collect();
        let mut found = Addresses::default();
        while let Some((number, register, offset)) = work.pop() {
            found.is_partial |= self.entered.contains(&number) || is_seen.len() > MOST_PLACES;
            if is_seen.len() > MOST_PLACES {
                break;
            }
            for &number in self.before.get(&number).into_iter().flatten() {
                let node = graph.node(number);
                let is_call = matches!(node.flow, Flow::Call | Flow::IndirectCall);
                if is_call && !self.convention.keeps(register) {
                    let is_result = self.convention.results >> register & 1 == 1;
                    // By the calling convention, the code after a foreign call does not read the register, or is never reached.
                    found.is_partial |= is_result || !self.is_foreign(graph, node);
                    if node.is_conditional && is_seen.insert((number, register, offset)) {
                        work.push((number, register, offset));
                    }
                    continue;
                }
                let effects = graph.effects(number).iter();
                let mut sets = effects.filter_map(|effect| match effect {
                    Effect::Set(to, value) if *to == register => Some(value),
                    _ => None,
                });
                let value = sets.next();
                let mut next = Vec::new();
                match value {
                    Some(Operand::Address(address)) => {
                        found.all.insert(address.wrapping_add_signed(offset));
                        found.by.insert(node.at);
                    }
                    Some(Operand::Load(base, _)) if is_stack(*base) => found.is_partial = true,
                    Some(Operand::Sum(from, 0)) => next.push((*from, offset)),
                    // The second half of an address. More sums are not followed, so that a loop ends.
                    Some(Operand::Sum(from, bytes)) if offset == 0 => {
                        next.push((*from, i64::from(*bytes)));
                        found.by.insert(node.at);
                    }
                    Some(_) if offset == 0 && register == wanted => {
                        found.others.insert(number);
                    }
                    Some(_) => found.is_partial = true,
                    None => {}
                }
                if value.is_none() || node.is_conditional {
                    next.push((register, offset));
                }
                for (register, offset) in next {
                    if is_seen.insert((number, register, offset)) {
                        work.push((number, register, offset));
                    }
                }
            }
        }
        found
    }

    /// Whether an address that an instruction computes may be used elsewhere than in its function's sums and jumps: whether a register that
    /// contains it may be stored, copied, passed to a callee or returned.
    pub(super) fn escapes(&self, graph: &Graph, computed_at: u32) -> bool {
        let set = |number: u32| {
            graph
                .effects(number)
                .iter()
                .find_map(|effect| match effect {
                    Effect::Set(to, Operand::Address(_) | Operand::Sum(..)) => Some(*to),
                    _ => None,
                })
        };
        let Some(register) = set(computed_at) else {
            return true;
        };
        let word = self.convention.word.cast_unsigned();
        let is_use = |effect: &Effect| match *effect {
            Effect::Set(to, Operand::Sum(from, _)) => from == register && to != register,
            Effect::Store {
                value: Operand::Sum(from, _),
                ..
            } => from == register,
            // What is stored is unknown: it is not this address if it is less than a word.
            Effect::Store {
                value: Operand::Unknown,
                size,
                ..
            } => !matches!(size, Size::Bytes(bytes) if bytes < word),
            _ => false,
        };
        let mut work = vec![computed_at];
        let mut is_seen: FxHashSet<u32> = FxHashSet::default();
        while let Some(number) = work.pop() {
            if !is_seen.insert(number) {
                continue;
            }
            let node = graph.node(number);
            let effects = graph.effects(number);
            let is_first = number == computed_at;
            let leaves = matches!(
                node.flow,
                Flow::Call | Flow::IndirectCall | Flow::Return | Flow::Unknown
            );
            if !is_first && (leaves || effects.iter().any(is_use)) || is_seen.len() > MOST_PLACES {
                return true;
            }
            let sets = |effect: &Effect| matches!(effect, Effect::Set(to, _) if *to == register);
            if !is_first && !node.is_conditional && effects.iter().any(sets) {
                continue;
            }
            // The target of an indirect jump does not read the address of the jump, and its entries are code of the function.
            if node.flow != Flow::IndirectJump {
                graph.successors(number, true, |to, _| {
                    if to != OUT {
                        work.push(to);
                    }
                });
            }
        }
        false
    }
}
