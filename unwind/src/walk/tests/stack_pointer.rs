//! Walks on stacks that nobody has declared, by tables with the stack pointers of code without a caller.

extern crate std;

use std::vec::Vec;

use super::{TEXT, Words, X86_64, amd64, with_list};
use crate::sframe::{Tables, format};
use crate::{Code, Doubt, End, How, Range, Undeclared, Unwinder, x86_64};

/// The walk from a function of 24 bytes of locals, by a table with a list of stack pointers: start, size, stack pointer. The stack is not known
/// unless it is `declared`.
fn walk(list: &[(u64, u32, u64)], declared: Option<Range>) -> (Vec<u64>, End, Option<Doubt>) {
    let entry = |(start, size, stack_pointer): &(u64, u32, u64)| {
        let start = start.to_le_bytes();
        let stack_pointer = stack_pointer.to_le_bytes();
        [start.as_slice(), &size.to_le_bytes(), &stack_pointer].concat()
    };
    let table = with_list(amd64(), format::STACK_POINTER_MAGIC, list, entry);
    let words = Words::new(&[(0x10018, 0x1005)]);
    let read = |address: u64| words.0.get(&address).copied();
    let code = [Code::new(X86_64, TEXT)];
    let tables = Tables::new(&table, 0);
    let section = tables.first().unwrap();
    assert_eq!(section.unproven_count(), Some(0));
    let size = match list.len() {
        0 => 0,
        count => count * format::STACK_POINTER_SIZE + format::STACK_POINTERS_SIZE,
    };
    assert_eq!(section.stack_pointers_size(), size);
    let unwinder = Unwinder::new(tables).code(&code);
    let registers = x86_64::Registers::new(0x3010, 0x10000, 0);
    let stack_of = |_| declared;
    let mut frames = unwinder.frames(registers, Undeclared::new(read, stack_of));
    let pcs = frames.by_ref().map(|frame| frame.pc).collect();
    (pcs, frames.end().unwrap(), frames.doubt())
}

#[test]
fn a_walk_is_complete_where_the_code_has_loaded_the_stack_pointer() {
    let pcs = Vec::from([0x3010, 0x1005]);
    let complete = (pcs.clone(), End::Complete, None);
    // The last frame returns to 0x1005, and the call before it ends there.
    for list in [
        &[(0x1000, 5, 0x10020)][..],
        &[(0x1000, 4, 0x10000), (0x1004, 1, 0x10020), (0x1005, 8, 0)],
        &[(0x0, 0x10000, 0x10020)],
    ] {
        assert_eq!(walk(list, None), complete, "{list:x?}");
    }
    let doubt = Doubt {
        frame: 1,
        how: How::SFrame,
        reason: End::BaseUnknown(0x10020),
    };
    let unknown = (pcs, End::Outermost, Some(doubt));
    // Another stack pointer, or another place.
    for list in [
        &[][..],
        &[(0x1000, 5, 0x10018)],
        &[(0x1000, 5, 0x10028)],
        &[(0x1000, 5, 0x1_0001_0020)],
        &[(0x1000, 4, 0x10020)],
        &[(0x1005, 8, 0x10020)],
        &[(0x1000, 4, 0x10020), (0x1004, 1, 0x10000)],
    ] {
        assert_eq!(walk(list, None), unknown, "{list:x?}");
    }
}

/// A kernel may declare a stack that is larger than what the code uses of it, not one that ends elsewhere.
#[test]
fn a_declared_stack_is_not_needed_where_the_code_shows_it() {
    let declared = Some(Range::new(0x8000, 0x10040));
    assert_eq!(walk(&[(0x1000, 5, 0x10020)], declared).1, End::Complete);
    assert_eq!(walk(&[], declared).1, End::NotAtBase(0x10020));
}
