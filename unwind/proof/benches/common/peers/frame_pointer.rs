//! Walks along the frame pointers, as `-C force-frame-pointers=yes` makes possible.

use super::Registers;
use crate::common::stack::Stack;

/// Two loads a frame, nothing checked.
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

/// The same with what a kernel must check to do no harm: a frame record is aligned, lies on the stack and above the one
/// before, and its return address is one of code. Whether the walk came to the record that says it is the last.
pub fn walk_checked(
    stack: &Stack,
    text: (u64, u64),
    (pc, sp, mut fp): Registers,
    mut found: impl FnMut(u64),
) -> bool {
    let range = stack.range();
    let mut least = sp;
    found(pc);
    while fp != 0 {
        if !fp.is_multiple_of(8) || fp < least || !range.holds(fp, 16) {
            return false;
        }
        // SAFETY: both words were just checked to lie on the stack.
        let (next, return_address) = unsafe { (stack.read(fp), stack.read(fp + 8)) };
        if return_address < text.0 || return_address >= text.1 {
            return false;
        }
        found(return_address);
        least = fp + 16;
        fp = next;
    }
    true
}
