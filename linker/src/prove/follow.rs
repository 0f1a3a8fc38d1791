//! Follows one function from its entry: a worklist of basic blocks, run until their states reach a fixed point.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::block::{Block, Spare};
use super::compare::Condition;
use super::isa::{Flow, Isa};
use super::judge::{Caller, Judge};
use super::jump_table::Sweeps;
use super::machine::Machine;
use super::outcome::{Entry, Outcome};
use super::rows_of::RowsOf;
use super::table::Tables;
use super::text::Text;
use super::value::Value;
use super::world::{Effect, World};
use crate::architecture::Architecture;
use crate::reason::Reason;

/// A reachable instruction, and the abstract state around it.
#[derive(Clone, Debug)]
pub struct Point<'m> {
    /// Its address.
    pub at: u64,
    /// Its length, in bytes.
    pub length: u8,
    /// The state before it.
    pub machine: &'m Machine,
    /// If it is a call, the state after the callee has returned.
    pub during_call: Option<&'m Machine>,
    /// It can only be reached by the return of a call that never returns.
    pub is_dead: bool,
}

/// Follows one function.
#[derive(Debug)]
pub struct Follow<'a, I: Isa> {
    pub(super) judge: Judge<'a, I>,
    pub(super) text: &'a Text<'a>,
    pub(super) world: &'a World,
    pub(super) start: u64,
    /// The caller's registers, as values at the entry.
    pub caller: Caller,
    spare: &'a Spare<I::Instruction>,
    /// By start address. Boxed, because the map moves its values.
    blocks: BTreeMap<u64, Box<Block<I::Instruction>>>,
    /// Starts of the blocks whose state has changed since they ran.
    worklist: BTreeSet<u64>,
    /// The block that runs, so far: in the map it has the end that it had before.
    running: Range<u64>,
    /// The start of the first block behind that, or less.
    next_block: u64,
    /// The state of the block that ran last, kept to reuse its allocations.
    scratch: Option<Box<Machine>>,
    pub(super) tables: Tables,
    pub(super) rows: RowsOf<'a>,
    /// Addresses of the running block whose row agrees, as far as it was followed.
    pub(super) agreed: Range<u64>,
    /// The outcome of the block that runs now.
    pub(super) outcome: Outcome,
    /// The state where the block that runs now returns to the caller.
    pub(super) exit: Option<Box<Machine>>,
    steps: usize,
    /// Dead code is being followed. It comes last, so that its states never join those of live code.
    pub(super) is_dead: bool,
    /// The return addresses of calls that never return, with the state that would be there.
    pub(super) dead: BTreeMap<u64, Machine>,
    /// Jumps through tables whose length had to be guessed, and how many entries that is.
    pub(super) guessed: BTreeMap<u64, usize>,
    /// The most entries of such a table.
    pub(super) most: usize,
    /// The results with all entries, if these are those with fewer: with other facts about what is called on those ways, they might not
    /// contradict themselves.
    with_all: Option<Box<Outcome>>,
    pub(super) sweeps: Sweeps,
}

/// The largest number of instructions that an interrupt's entry has behind its call: each register's, and some for the stack.
const MOST_UNTIL_RETURN: usize = 64;

/// No addresses: no block runs, or no row is known to agree.
pub(super) const NOTHING: Range<u64> = u64::MAX..u64::MAX;

/// The largest number of instructions executed for one function, counting each run of a block: enough for nested loops.
const MAX_STEPS: usize = 4_000_000;

impl<'a, I: Isa> Follow<'a, I> {
    /// Follows the function at an address. `None`: its first row does not say where the caller's registers are at the entry.
    ///
    /// A table whose length nothing tells is taken for as long as its entries may be targets. One too many may lead to where the code
    /// contradicts itself, as no real entry does: what a compiler makes returns with the stack as at the entry, and has one depth of it
    /// at each instruction. So the table ends before the first entry that leads there, as far as is known of the functions that are
    /// called; if more becomes known of one, the whole table is followed again.
    pub fn function(
        isa: &'a I,
        architecture: &'static Architecture,
        text: &'a Text<'a>,
        world: &'a World,
        start: u64,
        entry: Entry,
        spare: &'a Spare<I::Instruction>,
    ) -> Option<Self> {
        let follow = |most| {
            let judge = Judge { isa, architecture };
            Self::function_with(judge, text, world, start, entry, spare, most)
        };
        let whole = follow(usize::MAX)?;
        // Of several tables nobody knows which of them is too long.
        let guessed: Vec<usize> = whole.guessed.values().copied().collect();
        let ([entries], true) = (&guessed[..], whole.contradicts_itself()) else {
            return Some(whole);
        };
        let outcome = whole.outcome();
        // What seems to be another function may be a piece of this one, which is found out later.
        if !outcome.intrudes.is_empty() {
            return Some(whole);
        }
        let (mut fitting, mut too_many) = (None, *entries);
        let mut least = 1;
        while least < too_many {
            let most = least + (too_many - least) / 2;
            let shorter = follow(most)?;
            match shorter.contradicts_itself() {
                true => too_many = most,
                false => (fitting, least) = (Some(shorter), most + 1),
            }
        }
        Some(match fitting {
            Some(mut fitting) => {
                fitting.with_all = Some(outcome.into());
                fitting
            }
            None => whole,
        })
    }

    /// Whether a way leads out with another stack than at the entry, or ways meet with stacks of different depth.
    fn contradicts_itself(&self) -> bool {
        let mut live = self.blocks.values().filter(|block| !block.is_dead);
        live.any(|block| {
            matches!(block.outcome.problem, Some(Reason::Unbalanced(_)))
                || matches!(block.machine.lost, Some(Reason::Depths(_)))
        })
    }

    /// The same, with so many entries at most of a table whose length nothing tells.
    fn function_with(
        judge: Judge<'a, I>,
        text: &'a Text<'a>,
        world: &'a World,
        start: u64,
        entry: Entry,
        spare: &'a Spare<I::Instruction>,
        most: usize,
    ) -> Option<Self> {
        let mut machine = Machine::at_entry(I::STACK_POINTER);
        let caller = judge.caller(entry, &mut machine)?;
        let mut follow = Self {
            judge,
            text,
            world,
            start,
            caller,
            spare,
            blocks: BTreeMap::new(),
            worklist: BTreeSet::new(),
            running: NOTHING,
            next_block: u64::MAX,
            scratch: None,
            tables: Tables::default(),
            rows: RowsOf::new(world),
            agreed: NOTHING,
            outcome: Outcome::default(),
            exit: None,
            steps: 0,
            is_dead: false,
            dead: BTreeMap::new(),
            guessed: BTreeMap::new(),
            most,
            with_all: None,
            sweeps: Sweeps::default(),
        };
        follow.edge(start, &machine);
        follow.run_worklist();
        follow.follow_dead();
        Some(follow)
    }

    fn run_worklist(&mut self) {
        while self.steps <= MAX_STEPS
            && let Some(start) = self.worklist.pop_first()
        {
            self.run(start);
        }
    }

    /// Follows the code behind calls that never return, which compilers emit if they do not know that. It never runs, so wrong
    /// rows there do no harm; but a row that agrees with the code is better than an undecided one.
    fn follow_dead(&mut self) {
        self.is_dead = true;
        for (start, machine) in std::mem::take(&mut self.dead) {
            if self.row_agrees(start, &machine) == Some(true)
                || I::KEEPS_INTERRUPTED_ON_STACK && self.leads_to_interrupt_return(start, &machine)
            {
                self.edge(start, &machine);
            }
        }
        self.run_worklist();
        self.is_dead = false;
    }

    /// Whether the code from here to an interrupt return is one block without calls. It tells, though it never runs, that this is a
    /// handler: one whose entry would return, but for the function that it calls.
    fn leads_to_interrupt_return(&mut self, start: u64, machine: &Machine) -> bool {
        let (mut at, mut machine) = (start, machine.clone());
        for _ in 0..MOST_UNTIL_RETURN {
            machine.at = at;
            let Some(code) = self.text.code_at(at).filter(|_| !self.world.is_entry(at)) else {
                return false;
            };
            let executed = self.judge.isa.execute(code, &mut machine, &mut self.tables);
            match executed.map(|executed| (executed.flow, executed.length)) {
                Some((Flow::Next, length)) => at = at.wrapping_add(length.into()),
                Some((flow, _)) => return flow == Flow::InterruptReturn,
                None => return false,
            }
        }
        false
    }

    /// Executes a block, up to its end or the start of another one.
    fn run(&mut self, start: u64) {
        let Some(block) = self.blocks.get_mut(&start) else {
            return;
        };
        let mut decoded = std::mem::take(&mut block.decoded);
        let mut instructions = 0;
        let mut machine = self
            .scratch
            .take()
            .unwrap_or_else(|| block.machine.clone().into());
        (*machine).clone_from(&block.machine);
        let mut agrees = true;
        self.agreed = NOTHING;
        let mut at = start;
        self.next_block = self.first_block_from(start.saturating_add(1));
        loop {
            machine.at = at;
            agrees = agrees && self.row_still_agrees(at, &mut machine);
            if instructions == decoded.len() {
                // The section ends here.
                let Some(code) = self.text.code_at(at) else {
                    break;
                };
                self.judge.isa.decode(code, at, &mut decoded);
            }
            let (isa, tables) = (self.judge.isa, &mut self.tables);
            let instruction = decoded.get(instructions);
            instructions += 1;
            let before = instruction
                .filter(|instruction| isa.may_be_passed_over(instruction, &machine))
                .map(|_| machine.clone());
            let executed =
                instruction.and_then(|instruction| isa.run(instruction, &mut machine, tables));
            let Some(executed) = executed else {
                self.outcome.fail(Reason::NotCode(at));
                break;
            };
            self.steps += 1;
            let next = at.wrapping_add(executed.length.into());
            // Known now, because the block may jump into its own middle.
            self.running = start..next;
            if let Some(before) = before {
                self.pass_over(at, next, *before);
            }
            let goes_on = self.follow_flow(executed.flow, at, next, &mut machine);
            if self.leaves_return_address(executed.flow, next, &machine) {
                agrees = agrees && self.row_agrees_during_call(at, &machine);
            }
            at = next;
            if !goes_on {
                break;
            }
            if self.next_block < next {
                self.next_block = self.first_block_from(next);
            }
            if self.next_block == next {
                self.edge(next, &machine);
                break;
            }
            if self.leaves_function(at, next, &machine) {
                break;
            }
        }
        self.scratch = Some(machine);
        self.running = NOTHING;
        let (outcome, exit) = (std::mem::take(&mut self.outcome), self.exit.take());
        if let Some(block) = self.blocks.get_mut(&start) {
            block.end = at;
            block.decoded = decoded;
            block.agrees = agrees;
            block.outcome = outcome;
            block.exit = exit;
        }
    }

    /// Whether the next instruction is the entry of another function. If the stack is as at an entry, this one falls through
    /// into it, as assembly does; otherwise its last call does not return.
    fn leaves_function(&mut self, at: u64, next: u64, machine: &Machine) -> bool {
        if next == self.start || !self.world.is_entry(next) {
            return false;
        }
        if self.is_as_at_entry(machine) {
            self.jump(at, next, machine);
        }
        true
    }

    /// Adds an edge of the control flow graph: joins a state into the block at `to`, and queues the block if that changed it.
    pub(super) fn edge(&mut self, to: u64, machine: &Machine) {
        if self.is_dead && self.is_live(to) {
            return;
        }
        if let Some(block) = self.blocks.get_mut(&to) {
            if block.machine.join(machine, to) {
                self.worklist.insert(to);
            }
            return;
        }
        // A block that contains this address has to end here.
        if let Some((start, block)) = self.blocks.range(..to).next_back() {
            let end = match *start == self.running.start {
                true => self.running.end,
                false => block.end,
            };
            if to < end {
                self.worklist.insert(*start);
            }
        }
        if to >= self.running.end {
            self.next_block = self.next_block.min(to);
        }
        let block = self.spare.block(machine, to, self.is_dead);
        self.blocks.insert(to, block);
        self.worklist.insert(to);
    }

    /// The start of the first block at or behind an address.
    fn first_block_from(&self, address: u64) -> u64 {
        let mut behind = self.blocks.range(address..);
        behind.next().map_or(u64::MAX, |(start, _)| *start)
    }

    /// Whether a block of live code contains an address.
    fn is_live(&self, address: u64) -> bool {
        let block = self.blocks.range(..=address).next_back();
        block.is_some_and(|(start, block)| {
            !block.is_dead && (*start == address || address < block.end)
        })
    }

    /// The outcomes of all live blocks, combined.
    pub fn outcome(&self) -> Outcome {
        let mut whole = Outcome {
            tables: self.tables.addresses().collect(),
            problem: (self.steps > MAX_STEPS).then_some(Reason::TooMuch),
            ..Outcome::default()
        };
        if let Some(with_all) = &self.with_all {
            whole.calls.extend(&with_all.calls);
            whole.relies_on.extend(&with_all.relies_on);
            whole.stops_at.extend(&with_all.stops_at);
        }
        let dead = self.blocks.values().filter(|block| block.is_dead);
        let mut returns = dead.filter_map(|block| block.outcome.interrupt_return);
        let mut exit: Option<Box<Machine>> = None;
        for (start, block) in self.blocks.iter().filter(|(_, block)| !block.is_dead) {
            whole.add(&block.outcome);
            match (&mut exit, &block.exit) {
                (Some(exit), Some(other)) => {
                    exit.join(other, *start);
                }
                (None, Some(other)) => exit = Some(other.clone()),
                (_, None) => {}
            }
        }
        // An interrupt return that never runs tells what kind of function this is, too.
        whole.interrupt_return = whole.interrupt_return.or_else(|| returns.next());
        // Instructions that overlap: the guessed table was too long, and its last entries led into the middle of one.
        let extents = || self.blocks.iter().map(|(start, block)| (*start, block.end));
        if let Some(at) = self.guessed.keys().next().copied()
            && super::jump_table::overlap(self.judge.isa, self.text, extents())
        {
            whole.fail(Reason::IndirectJump(at));
        }
        let own = match self.caller.stack_pointer {
            Value::Stack(_, offset) => offset,
            _ => 0,
        };
        // What has one way out, its `ret`: behind another, a function that it jumps to could change them.
        let has_one_way_out = self.blocks.len() == 1
            && whole.tail_calls.is_empty()
            && whole.intrudes.is_empty()
            && whole.problem.is_none();
        let relied_on = match self.world.by_outliner.contains(&self.start) && has_one_way_out {
            // The call instruction itself changes the link register.
            true => !(I::KEPT_BY_CALLS | 1 << I::RETURN_ADDRESS | 1 << I::STACK_POINTER),
            false => 0,
        };
        whole.effect =
            exit.and_then(|exit| Effect::of(&exit, I::KEPT_BY_CALLS, relied_on, own, I::WORD));
        whole
    }

    /// Its blocks, ascending by start address.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, &Block<I::Instruction>)> {
        self.blocks.iter().map(|(start, block)| (*start, &**block))
    }

    /// Calls `see` for every instruction of a block, in ascending order, with the state there. Only valid after the fixed point
    /// is reached: before that, a state has not been joined with those of all predecessors.
    pub fn visit(
        &self,
        start: u64,
        block: &Block<I::Instruction>,
        mut see: impl FnMut(&Point<'_>),
    ) {
        let mut tables = self.tables.clone();
        let mut machine = block.machine.clone();
        machine.changed = u64::MAX;
        // Overwritten for each instruction, which reuses its allocations.
        let mut before = machine.clone();
        let mut at = start;
        for instruction in &block.decoded {
            if at >= block.end {
                return;
            }
            machine.at = at;
            before.clone_from(&machine);
            machine.changed = 0;
            let executed = self.judge.isa.run(instruction, &mut machine, &mut tables);
            let Some(executed) = executed else {
                return;
            };
            match executed.flow {
                Flow::Branch(_, condition) if condition != Condition::Other => {
                    machine.assume(condition.negated());
                }
                Flow::Call(to) => self.returned(to, &mut machine),
                _ => {}
            }
            let next = at.wrapping_add(executed.length.into());
            let is_call = self.leaves_return_address(executed.flow, next, &machine);
            see(&Point {
                at,
                length: executed.length,
                machine: &before,
                during_call: is_call.then_some(&machine),
                is_dead: block.is_dead,
            });
            at = next;
        }
    }
}

impl<I: Isa> Drop for Follow<'_, I> {
    fn drop(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        self.spare.keep(blocks.into_values());
    }
}
