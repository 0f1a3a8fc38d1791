//! Vector tables: where a processor enters code at an exception, in slots of one size each (AArch64).

use rustc_hash::FxHashSet;
use unwind::sframe::Row;

use super::Claims;
use super::entered::Entered;
use crate::architecture::{VectorTable, is_set_by};
use crate::graph::OUT;
use crate::instruction::{Effect, Flow, Operand, Register};

/// How many instructions before one are looked at for the constant that it uses.
const STRAIGHT: usize = 32;

impl Claims<'_> {
    /// The first instructions of the slots of vector tables, each with the row that the processor makes true there. A table is an address
    /// that is named in a function that sets the register for it, or in a caller of such a function. No call leads to its slots, and no slot is
    /// in the middle of a function. A slot leads to a return from a trap; or the slot, or the function that it calls first, leads to a read
    /// of the interrupted program counter; or the code shows that the register gets this address. If no code sets the register with the other
    /// stack pointer, all exceptions come from code with the same stack pointer.
    pub(super) fn slots(&self, entered: &Entered) -> Vec<(u32, &'static Row)> {
        let Some(form) = self.convention.vectors else {
            return Vec::new();
        };
        let setters = self.setters(form);
        let has_other_stack = self.sets(form.other_stack).next().is_some();
        let names = self.jumps.named.iter().filter(|named| {
            let number = self.graph.at(named.at);
            number.is_some_and(|number| setters.contains(&self.extents.of[number as usize]))
        });
        let mut tables: Vec<u64> = names.map(|named| named.address).collect();
        tables.sort_unstable();
        tables.dedup();
        tables.retain(|table| table.is_multiple_of(form.alignment()));
        let loaded = self.loaded(form.register);
        let reads = self.leading_to(self.reads(form.program_counter).collect());
        let slots = tables.iter().filter_map(|table| {
            let all = form.slots(*table, has_other_stack).map(|(at, row)| {
                let start = self.program.extent(at).start;
                let is_start = start >= *table && (start - table).is_multiple_of(form.slot);
                let number = self.graph.at(at).filter(|_| is_start)?;
                (!entered.is_called[number as usize]).then_some((number, row))
            });
            let all: Vec<(u32, &'static Row)> = all.collect::<Option<_>>()?;
            let ends = |(number, _): &(u32, &Row)| entered.ends_in_trap_return[*number as usize];
            let reads = |(number, _): &(u32, &Row)| {
                reads[*number as usize]
                    || self
                        .first_callee(*number)
                        .is_some_and(|callee| reads[callee as usize])
            };
            let is_table = loaded.contains(table) || all.iter().any(ends) || all.iter().any(reads);
            is_table.then_some(all)
        });
        slots.flatten().collect()
    }

    /// Returns the function that code calls first if it takes no branch.
    fn first_callee(&self, mut number: u32) -> Option<u32> {
        for _ in 0..STRAIGHT {
            let node = self.graph.node(number);
            number = match node.flow {
                Flow::Next | Flow::Branch => node.next,
                Flow::Jump => node.target,
                _ => return node.target_of_call(),
            };
            if number == OUT {
                return None;
            }
        }
        None
    }

    /// Returns the instructions that copy a register.
    fn reads(&self, register: Register) -> impl Iterator<Item = u32> {
        let is_copy = move |effect: &Effect| matches!(effect, Effect::Set(_, Operand::Sum(from, 0)) if *from == register);
        (0..self.graph.nodes.len() as u32)
            .filter(move |number| self.graph.effects(*number).iter().any(is_copy))
    }

    /// The constants that a register is set to, as far as the instructions right before show, or those right before a call of the function.
    fn loaded(&self, register: Register) -> FxHashSet<u64> {
        let mut all = FxHashSet::default();
        for setter in self.sets(register) {
            let source = |effect: &Effect| match effect {
                Effect::Set(to, Operand::Sum(from, 0)) if *to == register => Some(*from),
                _ => None,
            };
            let Some(source) = self.graph.effects(setter).iter().find_map(source) else {
                continue;
            };
            let before = self.straight_before(setter);
            let constant = |before: &[u32]| {
                let before = before.iter().map(|number| self.graph.node(*number).at);
                let before: Vec<u64> = before.collect();
                self.architecture.constant(self.program, source, &before)
            };
            let own = constant(&before);
            let first = before.last().map_or(setter, |first| *first);
            let calls = (0..self.graph.nodes.len() as u32)
                .filter(|call| self.graph.node(*call).target_of_call() == Some(first));
            let arguments = calls
                .filter_map(|call| constant(&[&before[..], &self.straight_before(call)].concat()));
            match own {
                Some(own) => all.extend([own]),
                None => all.extend(arguments),
            }
        }
        all
    }

    /// Returns the instructions before an instruction in straight-line code, the nearest first.
    fn straight_before(&self, number: u32) -> Vec<u32> {
        let is_before = |(after, before): &(u32, u32)| {
            let node = self.graph.node(*before);
            node.next == *after && node.flow == Flow::Next
        };
        let pairs = (0..number).rev().map(|before| (before + 1, before));
        let straight = pairs.take_while(is_before).take(STRAIGHT);
        straight.map(|(_, before)| before).collect()
    }

    /// The extents of the functions that set the register with the address of the table, and of those that call them.
    fn setters(&self, form: &VectorTable) -> FxHashSet<u32> {
        let extent = |number: u32| self.extents.of[number as usize];
        let own: FxHashSet<u32> = self.sets(form.register).map(extent).collect();
        let calls = (0..self.graph.nodes.len() as u32).filter(|number| {
            let callee = self.graph.node(*number).target_of_call();
            callee.is_some_and(|callee| own.contains(&extent(callee)))
        });
        let callers: Vec<u32> = calls.map(extent).collect();
        own.into_iter().chain(callers).collect()
    }

    /// The instructions that set a register.
    fn sets(&self, register: Register) -> impl Iterator<Item = u32> {
        (0..self.graph.nodes.len() as u32).filter(move |number| {
            let flow = self.graph.node(*number).flow;
            is_set_by(register, flow, self.graph.effects(*number))
        })
    }
}
