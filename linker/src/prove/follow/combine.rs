//! The results about a function as a whole, out of those about its blocks.

use super::super::isa::Isa;
use super::super::machine::Machine;
use super::super::outcome::Outcome;
use super::super::value::Value;
use super::super::world::Effect;
use super::jump_table::overlap;
use super::{Follow, MAX_STEPS};
use crate::reason::Reason;

impl<I: Isa> Follow<'_, I> {
    /// The outcomes of all live blocks, combined.
    pub fn outcome(&self) -> Outcome {
        let mut whole = Outcome {
            tables: self.tables.addresses().collect(),
            problem: (self.steps > MAX_STEPS).then_some(Reason::TooMuch),
            ..Outcome::default()
        };
        if let Some(with_all) = &self.with_all {
            whole.calls.extend(&with_all.calls);
            whole.enters.extend(&with_all.enters);
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
            && overlap(self.judge.isa, self.text, extents())
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
}
