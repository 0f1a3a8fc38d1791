//! Which declared functions are called, by what leads there.

use super::Claims;
use super::entries::Entered;
use crate::graph::{Edge, OUT};

impl Claims<'_> {
    /// Enters declared functions that control only falls into: code that cannot be reached may run into the function behind it, and that
    /// tells nothing of who calls this.
    pub(super) fn enter_fallen(&mut self, entered: &Entered) {
        let mut is_target = vec![false; self.graph.nodes.len()];
        for number in 0..self.graph.nodes.len() as u32 {
            if self.is_reached[number as usize] {
                self.successors(number, |to, edge| {
                    let falls = matches!(
                        edge,
                        Edge::Next | Edge::Passed | Edge::AfterCall | Edge::Resumed | Edge::Behind
                    );
                    if to != OUT && !falls {
                        is_target[to as usize] = true;
                    }
                });
            }
        }
        let starts = self.program.declared.iter().map(|one| one.start);
        for start in starts {
            let Some(number) = self.graph.at(start).map(|number| number as usize) else {
                continue;
            };
            if self.is_reached[number]
                && !is_target[number]
                && !entered.leads_to_trap_return[number]
                && !self.program.is_inside(start)
            {
                self.enter(entered, start, false);
            }
        }
    }
}
