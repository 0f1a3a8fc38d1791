//! Samples, counted by call stack.

use std::collections::BTreeMap;

use crate::outside::{Callers, Stack};

/// Samples of a machine.
#[derive(Debug)]
pub(super) struct Samples {
    /// The image is at work.
    is_entered: bool,
    pub(super) stacks: BTreeMap<Stack, u64>,
}

impl Samples {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self {
            is_entered: false,
            stacks: BTreeMap::new(),
        }
    }

    /// Counts one. What firmware did before the image was at work is none of its time.
    pub(super) fn add(&mut self, stack: Stack, callers: &Callers) {
        let mut innermost = stack.frames.first().into_iter();
        if !self.is_entered && innermost.any(|pc| callers.is_code(*pc)) {
            self.is_entered = true;
            self.stacks.clear();
        }
        *self.stacks.entry(stack).or_default() += 1;
    }

    /// What there is, in words.
    pub(super) fn summary(&self, every: u64) -> String {
        let all: u64 = self.stacks.values().sum();
        let complete = self.stacks.iter().filter(|(stack, _)| stack.is_complete);
        let complete: u64 = complete.map(|(_, count)| count).sum();
        let mut text = format!("{all} samples, one in {every} instructions, {complete} complete");
        if complete < all {
            text += &format!(", {} incomplete", all - complete);
        }
        text
    }
}
