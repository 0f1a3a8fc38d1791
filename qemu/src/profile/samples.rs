//! Samples: the call stacks that were seen, in the order of time.

use std::collections::{BTreeMap, BTreeSet};

use crate::outside::{Base, Callers, Stack};

/// Samples of a machine.
#[derive(Debug)]
pub(super) struct Samples {
    /// The image is at work.
    is_entered: bool,
    /// Each stack has a number, in the order in which they were first seen.
    pub(super) stacks: BTreeMap<Stack, usize>,
    /// The numbers of the stacks, one for each sample.
    pub(super) order: Vec<usize>,
}

impl Samples {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self {
            is_entered: false,
            stacks: BTreeMap::new(),
            order: Vec::new(),
        }
    }

    /// Adds one. What firmware did before the image was at work is none of its time.
    pub(super) fn add(&mut self, stack: Stack, callers: &Callers) {
        let mut innermost = stack.frames.first().into_iter();
        if !self.is_entered && innermost.any(|pc| callers.is_code(*pc)) {
            self.is_entered = true;
            self.stacks.clear();
            self.order.clear();
        }
        let next = self.stacks.len();
        self.order.push(*self.stacks.entry(stack).or_insert(next));
    }

    /// What there is, in words, with what is to be said of each sample.
    pub(super) fn summary(&self, interval: &str, callers: &Callers) -> String {
        let all = self.order.len();
        let count = |base| {
            let stacks = self.stacks.iter().filter(|(stack, _)| stack.base == base);
            let numbers: BTreeSet<usize> = stacks.map(|(_, number)| *number).collect();
            self.order.iter().filter(|it| numbers.contains(it)).count()
        };
        let complete = count(Base::Complete);
        let mut text =
            format!("{all} samples, {interval}; {complete} samples have complete call stacks");
        for (base, words) in [
            (
                Base::Undeclared,
                "samples have all callers, but the start of their stack is unknown",
            ),
            (
                Base::UndeclaredInDoubt,
                "samples have callers from unproven unwind rows, and the start of their stack is unknown",
            ),
            (
                Base::InDoubt,
                "samples end at the outermost function, but are in doubt",
            ),
            (Base::Incomplete, "samples have incomplete call stacks"),
        ] {
            let count = count(base);
            if count > 0 {
                text += &format!(", {count} {words}");
            }
        }
        if !self.is_entered {
            text += ", no sample is in the code of the image";
        }
        if let Some(doubt) = callers.doubt() {
            text += &format!(", {doubt}");
        }
        text
    }
}
