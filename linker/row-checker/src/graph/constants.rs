//! Words of code that are constants.

use super::Graph;

/// Whether a word of code is a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// It is an instruction.
    No,
    /// A symbol marks it as data, and control does not go there.
    Marked,
    /// The code loads it, and control does not go there.
    Loaded,
}

impl Graph {
    /// Makes instructions constants, or constants instructions. Edges to them are others then.
    pub fn mark(&mut self, numbers: std::ops::Range<u32>, constant: Constant) {
        for node in &mut self.nodes[numbers.start as usize..numbers.end as usize] {
            node.constant = constant;
        }
        self.is_changed = true;
    }
}
