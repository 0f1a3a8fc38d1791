//! Follows one function from its entry: a worklist of basic blocks, run until their states reach a fixed point.
//!
//! | module | does |
//! |---|---|
//! | `guess` | begins, again if a jump table was taken for too long |
//! | `edges`, `jump_table` | where control goes after an instruction |
//! | `agree` | whether rows are right on the way |
//! | `dead` | code behind calls that never return |
//! | `combine`, `visit` | the results: of the function as a whole, and at each instruction |

mod agree;
mod combine;
mod dead;
mod edges;
mod guess;
mod jump_table;
mod visit;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::block::{Block, Spare};
use super::isa::Isa;
use super::judge::{Caller, Judge};
use super::machine::Machine;
use super::outcome::{Entry, Outcome};
use super::rows_of::RowsOf;
use super::table::Tables;
use super::text::Text;
use super::world::World;
use crate::reason::Reason;
use jump_table::Sweeps;
pub use visit::Point;

/// Follows one function.
#[derive(Debug)]
pub struct Follow<'a, I: Isa> {
    judge: Judge<'a, I>,
    text: &'a Text<'a>,
    world: &'a World,
    start: u64,
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
    tables: Tables,
    rows: RowsOf<'a>,
    /// Addresses of the running block whose row agrees, as far as it was followed.
    agreed: Range<u64>,
    /// The outcome of the block that runs now.
    outcome: Outcome,
    /// The state where the block that runs now returns to the caller.
    exit: Option<Box<Machine>>,
    steps: usize,
    /// Dead code is being followed. It comes last, so that its states never join those of live code.
    is_dead: bool,
    /// The return addresses of calls that never return, with the state that would be there.
    dead: BTreeMap<u64, Machine>,
    /// Jumps through tables whose length had to be guessed, and how many entries that is.
    guessed: BTreeMap<u64, usize>,
    /// The most entries of such a table.
    most: usize,
    /// The results with all entries, if these are those with fewer: with other facts about what is called on those ways, they might not
    /// contradict themselves.
    with_all: Option<Box<Outcome>>,
    sweeps: Sweeps,
}

/// No addresses: no block runs, or no row is known to agree.
const NOTHING: Range<u64> = u64::MAX..u64::MAX;

/// The largest number of instructions executed for one function, counting each run of a block: enough for nested loops.
const MAX_STEPS: usize = 4_000_000;

impl<'a, I: Isa> Follow<'a, I> {
    /// [`Self::function`], with so many entries at most of a table whose length nothing tells.
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
        } else {
            self.run_into(next, machine);
        }
        true
    }

    /// Adds an edge of the control flow graph: joins a state into the block at `to`, and queues the block if that changed it.
    fn edge(&mut self, to: u64, machine: &Machine) {
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

    /// Its blocks, ascending by start address.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, &Block<I::Instruction>)> {
        self.blocks.iter().map(|(start, block)| (*start, &**block))
    }
}

impl<I: Isa> Drop for Follow<'_, I> {
    fn drop(&mut self) {
        let blocks = std::mem::take(&mut self.blocks);
        self.spare.keep(blocks.into_values());
    }
}
