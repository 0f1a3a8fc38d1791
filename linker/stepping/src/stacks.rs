//! Stacks that a program switches between: which one a stack pointer belongs to.

use crate::truth::Entry;

/// Largest distance by which a function moves its stack pointer down on its own stack, in bytes.
const NEAR: u64 = 1 << 20;

/// A stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Calls that have not returned, outermost first.
    pub entries: Vec<Entry>,
    /// Lowest stack pointer seen.
    low: u64,
    /// Highest stack pointer seen.
    high: u64,
    /// Stack pointer when the program left the stack.
    left: u64,
    /// Whether the stack was followed from its first instruction.
    pub is_whole: bool,
}

/// All stacks of a program.
#[derive(Clone, Debug)]
pub struct Stacks {
    /// The stack in use.
    pub current: Stack,
    others: Vec<Stack>,
    /// Switches between stacks.
    pub switches: u64,
}

impl Stack {
    fn new(sp: u64, is_whole: bool) -> Self {
        Self {
            entries: Vec::new(),
            low: sp,
            high: sp,
            left: sp,
            is_whole,
        }
    }
}

impl Stacks {
    /// The stack of a program that starts with this stack pointer.
    #[must_use]
    pub fn new(sp: u64) -> Self {
        Self {
            current: Stack::new(sp, true),
            others: Vec::new(),
            switches: 0,
        }
    }

    /// Notes a stack pointer on the same stack.
    pub fn extend(&mut self, sp: u64) {
        let stack = &mut self.current;
        stack.low = stack.low.min(sp);
        stack.high = stack.high.max(sp);
    }

    /// Notes that the stack pointer was loaded with `to`, and switches if `to` is on another stack. Returns whether it switched.
    pub fn load(&mut self, from: u64, to: u64) -> bool {
        let is_above = (from..=self.current.high).contains(&to);
        let holds = |stack: &Stack| (stack.left..=stack.high).contains(&to);
        let other = self.others.iter().position(holds);
        let is_near = to < from && from - to < NEAR;
        if is_above || other.is_none() && is_near {
            self.extend(to);
            return false;
        }
        let next = match other {
            Some(index) => self.others.swap_remove(index),
            None => {
                // A new stack in the memory of an old one.
                self.others
                    .retain(|stack| !(stack.low..=stack.high).contains(&to));
                Stack::new(to, false)
            }
        };
        let mut left = std::mem::replace(&mut self.current, next);
        left.left = from;
        self.others.push(left);
        self.extend(to);
        self.switches += 1;
        true
    }
}
