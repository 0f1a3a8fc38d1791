//! One function, from its entry through all its branches, to a fixed point.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::Condition;
use super::isa::{Flow, Isa};
use super::judge::{Caller, Judge, Judgement};
use super::jump_table::Sweeps;
use super::machine::Machine;
use super::outcome::{Entry, Outcome};
use super::reason::Reason;
use super::rows_of::RowsOf;
use super::table::Tables;
use super::text::Text;
use super::value::Value;
use super::world::{Effect, World};
use crate::architecture::Architecture;

/// An instruction that ways lead to, and what is known there.
#[derive(Clone, Debug)]
pub struct Point<'m> {
    /// Its address.
    pub at: u64,
    /// Its length, in bytes.
    pub length: u8,
    /// What is known before it.
    pub machine: &'m Machine,
    /// If it is a call, what is known when the callee has returned.
    pub during_call: Option<&'m Machine>,
    /// It only runs if a call returns of which it is known that it does not.
    pub is_dead: bool,
}

/// A run of instructions that is entered at its start only.
#[derive(Debug)]
pub struct Block {
    /// What is known at its start.
    machine: Machine,
    /// Address after its last instruction.
    pub end: u64,
    /// It only runs if a call returns that never does.
    is_dead: bool,
    /// Every instruction has a row, and that is right.
    pub agrees: bool,
    /// What was found out about it when it ran last.
    outcome: Outcome,
    /// What is known where it returns to the caller.
    exit: Option<Box<Machine>>,
}

/// Follows one function.
#[derive(Debug)]
pub struct Follow<'a, I> {
    pub(super) judge: Judge<'a, I>,
    pub(super) text: &'a Text<'a>,
    pub(super) world: &'a World,
    pub(super) start: u64,
    /// What it knows of its caller.
    pub caller: Caller,
    /// By where they start. Boxed, because the map moves them.
    blocks: BTreeMap<u64, Box<Block>>,
    /// Blocks that have to run, once more if they did.
    work: BTreeSet<u64>,
    /// The machine of the block that ran last, for its memory.
    scratch: Option<Box<Machine>>,
    pub(super) tables: Tables,
    rows: RowsOf<'a>,
    /// What the block that runs has found out.
    pub(super) outcome: Outcome,
    /// What is known where the block that runs returns to the caller.
    pub(super) exit: Option<Box<Machine>>,
    steps: usize,
    /// What runs only if a call returns that never does is followed: last, because nothing of it is true of anything else.
    pub(super) is_dead: bool,
    /// Where such calls would return to, and what would be known there: what they were followed with last.
    pub(super) dead: BTreeMap<u64, Machine>,
    /// A jump by a table of which nothing says how long it is.
    pub(super) guessed_table: Option<u64>,
    pub(super) sweeps: Sweeps,
}

/// Instructions that are followed, at most, for each block that there is: enough for nested loops.
const MOST_STEPS: usize = 4_000_000;

impl<'a, I: Isa> Follow<'a, I> {
    /// Follows the function at an address. `None`: it is entered in a way that its first row does not tell.
    pub fn function(
        isa: &'a I,
        architecture: &'static Architecture,
        text: &'a Text<'a>,
        world: &'a World,
        start: u64,
        entry: Entry,
    ) -> Option<Self> {
        let judge = Judge { isa, architecture };
        let mut machine = Machine::at_entry(I::STACK_POINTER);
        let caller = judge.caller(entry, &mut machine)?;
        let mut follow = Self {
            judge,
            text,
            world,
            start,
            caller,
            blocks: BTreeMap::new(),
            work: BTreeSet::new(),
            scratch: None,
            tables: Tables::default(),
            rows: RowsOf::new(world),
            outcome: Outcome::default(),
            exit: None,
            steps: 0,
            is_dead: false,
            dead: BTreeMap::new(),
            guessed_table: None,
            sweeps: Sweeps::default(),
        };
        follow.edge(start, &machine);
        follow.work();
        follow.follow_dead();
        Some(follow)
    }

    fn work(&mut self) {
        while self.steps <= MOST_STEPS
            && let Some(start) = self.work.pop_first()
        {
            self.run(start);
        }
    }

    /// Follows the code behind calls that never return, which compilers do not always know. It never runs, so whatever its rows
    /// say does no harm; but rows that would be right are worth more than rows of which nothing is known.
    fn follow_dead(&mut self) {
        self.is_dead = true;
        for (start, machine) in std::mem::take(&mut self.dead) {
            if self.row_agrees(start, &machine) == Some(true) {
                self.edge(start, &machine);
            }
        }
        self.work();
        self.is_dead = false;
    }

    /// Runs a block, up to where it ends or another one starts.
    fn run(&mut self, start: u64) {
        let Some(block) = self.blocks.get(&start) else {
            return;
        };
        let mut machine = self
            .scratch
            .take()
            .unwrap_or_else(|| block.machine.clone().into());
        (*machine).clone_from(&block.machine);
        let mut agrees = true;
        let mut at = start;
        loop {
            machine.at = at;
            agrees = agrees && self.row_agrees(at, &machine) == Some(true);
            // Behind the last instruction of all code nothing runs.
            let Some(code) = self.text.code_at(at) else {
                break;
            };
            let executed = self.judge.isa.execute(code, &mut machine, &mut self.tables);
            let Some(executed) = executed else {
                self.outcome.fail(Reason::NotCode(at));
                break;
            };
            self.steps += 1;
            let next = at.wrapping_add(executed.length.into());
            // Before it jumps into itself.
            if let Some(block) = self.blocks.get_mut(&start) {
                block.end = next;
            }
            let goes_on = self.go(executed.flow, at, next, &mut machine);
            if matches!(executed.flow, Flow::Call(_)) {
                agrees = agrees && self.row_agrees_during_call(at, &machine);
            }
            at = next;
            if !goes_on {
                break;
            }
            if self.blocks.contains_key(&next) {
                self.edge(next, &machine);
                break;
            }
            if self.runs_out(at, next, &machine) {
                break;
            }
        }
        self.scratch = Some(machine);
        let (outcome, exit) = (std::mem::take(&mut self.outcome), self.exit.take());
        if let Some(block) = self.blocks.get_mut(&start) {
            block.end = at;
            block.agrees = agrees;
            block.outcome = outcome;
            block.exit = exit;
        }
    }

    /// Whether the next instruction is another function's. Assembly may run on into it; otherwise what came before does not
    /// come back.
    fn runs_out(&mut self, at: u64, next: u64, machine: &Machine) -> bool {
        if next == self.start || !self.world.is_entry(next) {
            return false;
        }
        if self.is_as_at_entry(machine) {
            self.jump(at, next, machine);
        }
        true
    }

    /// A way leads to an address.
    pub(super) fn edge(&mut self, to: u64, machine: &Machine) {
        if self.is_dead && self.lives(to) {
            return;
        }
        if let Some(block) = self.blocks.get_mut(&to) {
            if block.machine.join(machine, to) {
                self.work.insert(to);
            }
            return;
        }
        // The block that ran through it has to stop there.
        if let Some((start, block)) = self.blocks.range(..to).next_back()
            && to < block.end
        {
            self.work.insert(*start);
        }
        let block = Block {
            machine: machine.clone(),
            end: to,
            is_dead: self.is_dead,
            agrees: false,
            outcome: Outcome::default(),
            exit: None,
        };
        self.blocks.insert(to, Box::new(block));
        self.work.insert(to);
    }

    /// Whether an instruction runs that may return.
    fn lives(&self, address: u64) -> bool {
        let block = self.blocks.range(..=address).next_back();
        block.is_some_and(|(start, block)| {
            !block.is_dead && (*start == address || address < block.end)
        })
    }

    /// Whether call frame information says of an address what is known. `None`: it says nothing, or that is not known.
    pub(super) fn row_agrees(&mut self, at: u64, machine: &Machine) -> Option<bool> {
        let row = self.rows.at(at)?;
        match self.judge.judge(&row, machine, &self.caller) {
            Judgement::Agrees => Some(true),
            Judgement::Contradicts => Some(false),
            Judgement::Undecided(_) => None,
        }
    }

    /// Whether the row of a call holds while the callee runs, too, which has changed what it may.
    fn row_agrees_during_call(&mut self, at: u64, machine: &Machine) -> bool {
        let row = self.rows.at(at);
        row.is_some_and(|row| {
            self.judge
                .judge_during_call(&row, machine, &self.caller)
                .is_none_or(|judgement| judgement == Judgement::Agrees)
        })
    }

    /// What the function does as a whole.
    pub fn outcome(&self) -> Outcome {
        let mut whole = Outcome {
            tables: self.tables.addresses().collect(),
            problem: (self.steps > MOST_STEPS).then_some(Reason::TooMuch),
            ..Outcome::default()
        };
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
        // Two instructions that share bytes: an entry too many of a table led into the middle of one of them.
        let extents = || self.blocks.iter().map(|(start, block)| (*start, block.end));
        if let Some(at) = self.guessed_table
            && super::jump_table::overlap(self.judge.isa, self.text, extents())
        {
            whole.fail(Reason::IndirectJump(at));
        }
        let own = match self.caller.stack_pointer {
            Value::Stack(_, offset) => offset,
            _ => 0,
        };
        whole.effect = exit.and_then(|exit| Effect::of(&exit, I::KEPT_BY_CALLS, own));
        whole
    }

    /// Its blocks, by where they start: ascending.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, &Block)> {
        self.blocks.iter().map(|(start, block)| (*start, &**block))
    }

    /// Shows every instruction of a block, in ascending order, with what is known there. Not while the function is followed:
    /// what is known on the first way to an instruction is more than is true.
    pub fn visit(&self, start: u64, block: &Block, mut see: impl FnMut(&Point<'_>)) {
        let mut tables = self.tables.clone();
        let mut machine = block.machine.clone();
        // Copied for each instruction, into the memory of the last copy.
        let mut before = machine.clone();
        let mut at = start;
        while at < block.end {
            machine.at = at;
            before.clone_from(&machine);
            let code = self.text.code_at(at).unwrap_or_default();
            let Some(executed) = self.judge.isa.execute(code, &mut machine, &mut tables) else {
                return;
            };
            match executed.flow {
                Flow::Branch(_, condition) if condition != Condition::Other => {
                    machine.assume(condition.negated());
                }
                Flow::Call(to) => self.returned(to, &mut machine),
                _ => {}
            }
            see(&Point {
                at,
                length: executed.length,
                machine: &before,
                during_call: matches!(executed.flow, Flow::Call(_)).then_some(&machine),
                is_dead: block.is_dead,
            });
            at = at.wrapping_add(executed.length.into());
        }
    }
}
