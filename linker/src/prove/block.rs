//! Basic blocks, and their memory, which the blocks of one function take from those of another.

use std::cell::RefCell;

use super::machine::Machine;
use super::outcome::Outcome;

/// A basic block: instructions that are entered at the first one only.
#[derive(Debug)]
pub struct Block<Instruction> {
    /// The state at its start: the join over its predecessors.
    pub(super) machine: Machine,
    /// Address after its last instruction.
    pub end: u64,
    /// Its instructions, and perhaps some behind them.
    pub(super) decoded: Vec<Instruction>,
    /// It can only be reached by the return of a call that never returns.
    pub(super) is_dead: bool,
    /// Every instruction has a row, and that row is right.
    pub agrees: bool,
    /// Calls, jumps and problems, as its last run found them.
    pub(super) outcome: Outcome,
    /// The state where it returns to the caller.
    pub(super) exit: Option<Box<Machine>>,
}

/// Room for the instructions of a block, which most do not need more than.
const USUAL: usize = 16;

/// Blocks of functions that were followed, kept for the memory that they have: to ask for it again and again took 5 % of a link without names.
#[derive(Debug)]
#[expect(
    clippy::vec_box,
    reason = "the map of a function takes the boxes as they are"
)]
pub struct Spare<Instruction>(RefCell<Vec<Box<Block<Instruction>>>>);

impl<Instruction> Default for Spare<Instruction> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<Instruction> Spare<Instruction> {
    /// A block up to an address that has not run, with this state at its start.
    pub(super) fn block(
        &self,
        machine: &Machine,
        end: u64,
        is_dead: bool,
    ) -> Box<Block<Instruction>> {
        let Some(mut block) = self.0.borrow_mut().pop() else {
            return Box::new(Block {
                machine: machine.clone(),
                end,
                decoded: Vec::with_capacity(USUAL),
                is_dead,
                agrees: false,
                outcome: Outcome::default(),
                exit: None,
            });
        };
        block.machine.clone_from(machine);
        block.end = end;
        block.decoded.clear();
        block.is_dead = is_dead;
        block.agrees = false;
        block.outcome = Outcome::default();
        block.exit = None;
        block
    }

    /// Keeps blocks that are not needed any more.
    pub(super) fn keep(&self, blocks: impl Iterator<Item = Box<Block<Instruction>>>) {
        self.0.borrow_mut().extend(blocks);
    }
}
