//! All instructions of an image, and where control goes from each.

mod constants;
mod decode;
mod ends;
mod extents;
mod predecessors;
mod runs;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::architecture::Convention;
use crate::instruction::{Effect, Flow, Operand, Size};
use crate::program::Program;

pub use constants::Constant;
pub use extents::Extents;
pub use predecessors::Predecessors;
pub use runs::{Run, Runs};

/// Stands for the number of an instruction where there is none: control leaves the code that is known.
pub const OUT: u32 = u32::MAX;

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Its address.
    pub at: u64,
    /// Its bytes.
    pub length: u8,
    /// Where control goes.
    pub flow: Flow,
    /// It is executed under a condition.
    pub is_conditional: bool,
    /// The number of the condition that decides over it, if that is known.
    pub condition: Option<u8>,
    /// The flags that conditions test are the same after it.
    pub keeps_flags: bool,
    /// It may name an address of code or data.
    pub may_name: bool,
    /// It is padding.
    pub is_padding: bool,
    /// Whether it is a constant, and no instruction.
    pub constant: Constant,
    /// It is a branch that is not taken if the values compared last are equal.
    pub is_not_equal: bool,
    /// The number of the instruction behind it, or [`OUT`].
    pub next: u32,
    /// The number of a direct branch's target, or [`OUT`].
    pub target: u32,
    effects: (u32, u8),
    /// [`Graph::more`] has edges from it.
    has_more: bool,
}

impl Node {
    /// Whether control goes to the next instruction, and nowhere else.
    #[must_use]
    pub fn runs_on(&self) -> bool {
        self.flow == Flow::Next && !self.is_conditional && !self.has_more
    }

    /// The function that the instruction calls directly, if its code is known.
    #[must_use]
    pub fn target_of_call(&self) -> Option<u32> {
        (self.flow == Flow::Call && self.target != OUT).then_some(self.target)
    }
}

/// How control goes from one instruction to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// To the next instruction.
    Next,
    /// To the next instruction, as a condition does not hold.
    Passed,
    /// To a branch's target.
    Taken,
    /// Back from a call.
    AfterCall,
    /// By a jump table, or by a jump through a pointer.
    Table,
    /// To code of the same function, by a jump that is not followed, or by a call whose callee may return to a different address.
    Anywhere,
    /// On behind a trap.
    Resumed,
    /// To a landing pad, with the stack pointer moved up by so many bytes.
    LandingPad(i32),
    /// From a call or trap to code behind it that nothing else reaches.
    Behind,
    /// By a return to an address that this code has pushed.
    Pushed,
}

/// The instructions of an image.
#[derive(Debug, Default)]
pub struct Graph {
    /// Ascending by address.
    pub nodes: Vec<Node>,
    effects: Vec<Effect>,
    /// For each section of code: its address, and for each unit of it the number of the instruction there, or [`OUT`].
    numbers: Vec<(u64, Vec<u32>)>,
    unit: u64,
    /// Edges that the instruction alone does not tell.
    more: FxHashMap<u32, Vec<(u32, Edge)>>,
    /// Calls, halts and traps behind which their function ends, by its declared extent.
    pub is_at_end: Vec<bool>,
    /// Edges have changed since [`Graph::take_changed`] was called last.
    is_changed: bool,
}

impl Graph {
    /// The number of the instruction at an address.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<u32> {
        let after = self.numbers.partition_point(|(start, _)| *start <= address);
        let (start, numbers) = self.numbers.get(after.checked_sub(1)?)?;
        let offset = address - start;
        let number = *numbers.get((offset / self.unit) as usize)?;
        (number != OUT && offset.is_multiple_of(self.unit)).then_some(number)
    }

    /// The instruction with a number.
    #[must_use]
    pub fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    /// What an instruction changes.
    #[must_use]
    pub fn effects(&self, number: u32) -> &[Effect] {
        let (first, count) = self.node(number).effects;
        &self.effects[first as usize..first as usize + usize::from(count)]
    }

    /// The numbers of the instructions between two addresses.
    #[must_use]
    pub fn between(&self, start: u64, end: u64) -> std::ops::Range<u32> {
        let first = self.nodes.partition_point(|node| node.at < start);
        let after = self.nodes.partition_point(|node| node.at < end);
        first as u32..after.max(first) as u32
    }

    /// Calls `each` with every place that control goes to from an instruction. `returns` tells whether the call there comes back.
    pub fn successors(&self, number: u32, returns: bool, mut each: impl FnMut(u32, Edge)) {
        let node = self.node(number);
        let at_end = self.is_at_end[number as usize];
        match node.flow {
            Flow::Next => each(node.next, Edge::Next),
            Flow::Halt if !at_end => each(node.next, Edge::Next),
            Flow::Branch => {
                each(node.next, Edge::Next);
                each(node.target, Edge::Taken);
            }
            Flow::Jump => each(node.target, Edge::Taken),
            Flow::Call | Flow::IndirectCall if returns && !at_end => {
                each(node.next, Edge::AfterCall)
            }
            // A handler may resume after it, unless data is there.
            Flow::Trap
                if !at_end
                    && node.next != OUT
                    && self.node(node.next).constant != Constant::Loaded =>
            {
                each(node.next, Edge::Resumed)
            }
            _ => {}
        }
        if node.is_conditional {
            each(node.next, Edge::Passed);
        }
        for &(to, edge) in self.more(number) {
            each(to, edge);
        }
    }

    /// Edges from an instruction that the instruction alone does not tell.
    #[must_use]
    pub fn more(&self, number: u32) -> &[(u32, Edge)] {
        match self.node(number).has_more {
            true => self.more.get(&number).map_or(&[], Vec::as_slice),
            false => &[],
        }
    }

    /// Takes a call for a jump behind what the call leaves: the address of the next instruction.
    pub fn make_jump(&mut self, number: u32, convention: &Convention) {
        let node = self.node(number);
        let next = Operand::Address(node.at + u64::from(node.length));
        let first = self.effects.len() as u32;
        let stack_pointer = convention.stack_pointer;
        let pushed = convention.pushed();
        self.effects.extend(match convention.link {
            Some(link) => vec![Effect::Set(link, next)],
            None => vec![
                Effect::Store {
                    base: stack_pointer,
                    offset: -pushed,
                    size: Size::Bytes(pushed.cast_unsigned()),
                    value: next,
                },
                Effect::Set(stack_pointer, Operand::Sum(stack_pointer, -pushed)),
            ],
        });
        let count = (self.effects.len() as u32 - first) as u8;
        // Edges to code after the call were added as if it was a call.
        self.more.remove(&number);
        self.is_changed = true;
        let node = &mut self.nodes[number as usize];
        node.flow = Flow::Jump;
        node.effects = (first, count);
    }

    /// Makes each call of the next instruction a jump, unless a function is declared there. Position-independent code reads its own address with
    /// such a call.
    pub fn make_calls_of_next_jumps(&mut self, program: &Program<'_>, convention: &Convention) {
        for number in 0..self.nodes.len() as u32 {
            let node = self.node(number);
            let is_next = node.flow == Flow::Call && node.target != OUT && node.target == node.next;
            if is_next && !program.is_start(node.at + u64::from(node.length)) {
                self.make_jump(number, convention);
            }
        }
    }

    fn more_of(&mut self, from: u32) -> &mut Vec<(u32, Edge)> {
        self.nodes[from as usize].has_more = true;
        self.more.entry(from).or_default()
    }

    /// Adds an edge, and returns whether it is new.
    pub fn add(&mut self, from: u32, to: u32, edge: Edge) -> bool {
        let edges = self.more_of(from);
        let is_new = !edges.contains(&(to, edge));
        if is_new {
            edges.push((to, edge));
            self.is_changed = true;
        }
        is_new
    }

    /// Adds edges to all of these instructions.
    pub fn lead(&mut self, from: u32, all: &BTreeSet<u32>, edge: Edge) {
        let edges = self.more_of(from);
        edges.retain(|(to, other)| *other != edge || !all.contains(to));
        edges.extend(all.iter().map(|to| (*to, edge)));
        self.is_changed = true;
    }

    /// Whether edges have changed since this function was called last.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Adds the edges to landing pads: from calls. In a range without calls, every instruction may throw (`-fnon-call-exceptions`); in others
    /// the instructions that are no calls push arguments, too, and have no other frame at a landing pad than the calls.
    pub fn add_landing_pads(&mut self, program: &Program<'_>) {
        let is_call = |node: &Node| matches!(node.flow, Flow::Call | Flow::IndirectCall);
        for pad in &program.landing_pads {
            let Some(to) = self.at(pad.pad) else { continue };
            let range = self.between(pad.start, pad.end);
            let has_calls = range.clone().any(|number| is_call(self.node(number)));
            for number in range {
                if !has_calls || is_call(self.node(number)) {
                    self.add(number, to, Edge::LandingPad(pad.arguments));
                }
            }
        }
    }

    /// The instructions that lead to each one.
    #[must_use]
    pub fn predecessors(&self) -> Predecessors {
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(2 * self.nodes.len());
        for number in 0..self.nodes.len() as u32 {
            self.successors(number, true, |to, _| {
                if to != OUT {
                    edges.push((number, to));
                }
            });
        }
        Predecessors::of_edges(self.nodes.len(), &edges)
    }
}
