//! A bare walk along the frame pointers, as `-C force-frame-pointers=yes` makes possible: two loads a frame, nothing
//! checked.

use super::Registers;
use crate::common::stack::Stack;

pub fn walk(stack: &Stack, (pc, _, mut fp): Registers, mut found: impl FnMut(u64)) {
    found(pc);
    while fp != 0 {
        // SAFETY: the frame pointers of the stack that was prepared for this walk end in a zero, as the others make sure
        // of beforehand.
        let (next, return_address) = unsafe { (stack.read(fp), stack.read(fp + 8)) };
        found(return_address);
        fp = next;
    }
}
