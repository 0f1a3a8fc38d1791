//! The calls that the machine has made, by its registers: at a function's first instruction, the link register has the address
//! behind the instruction before. No table and no decoder has a hand in it.

use std::collections::BTreeSet;

use crate::big_endian::machine::State;
use crate::big_endian::program::Program;

/// A frame of a list, compared as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub pc: u64,
    pub sp: u64,
    pub fp: u64,
}

/// The longest call instruction, in bytes.
const LONGEST: u64 = 6;

/// The calls that have not returned.
pub struct Calls {
    /// Where each goes on, outermost first.
    callers: Vec<Place>,
    /// The most there were.
    pub deepest: usize,
    entries: BTreeSet<u64>,
    unseen: BTreeSet<u64>,
}

impl Calls {
    /// None yet.
    pub fn new(program: &Program) -> Self {
        let entries: BTreeSet<u64> = program.functions.iter().copied().collect();
        Self {
            callers: Vec::new(),
            deepest: 0,
            unseen: entries.clone(),
            entries,
        }
    }

    /// The machine has run one instruction.
    pub fn advance(&mut self, before: &State, after: &State) {
        self.unseen.remove(&after.pc);
        if let Some(top) = self.callers.last()
            && (top.pc, top.sp) == (after.pc, after.sp)
        {
            self.callers.pop();
        } else if self.entries.contains(&after.pc)
            && (before.pc + 1..=before.pc + LONGEST).contains(&after.link)
        {
            self.callers.push(Place {
                pc: after.link,
                sp: after.sp,
                fp: after.fp,
            });
        }
        self.deepest = self.deepest.max(self.callers.len());
    }

    /// The list of a walk from here.
    pub fn list(&self, state: &State) -> Vec<Place> {
        let innermost = Place {
            pc: state.pc,
            sp: state.sp,
            fp: state.fp,
        };
        let callers = self.callers.iter().rev().copied();
        [innermost].into_iter().chain(callers).collect()
    }

    /// Whether no call is going on.
    pub fn in_first(&self) -> bool {
        self.callers.is_empty()
    }

    /// Functions that were never entered.
    pub fn unseen(&self) -> Vec<u64> {
        self.unseen.iter().copied().collect()
    }
}
