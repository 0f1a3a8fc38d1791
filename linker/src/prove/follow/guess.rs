//! How far a jump table reaches whose length nothing tells: as far as the code does not contradict itself.

use super::super::block::Spare;
use super::super::isa::Isa;
use super::super::judge::Judge;
use super::super::outcome::Entry;
use super::super::text::Text;
use super::super::world::World;
use super::Follow;
use crate::architecture::Architecture;
use crate::reason::Reason;

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
}
