//! The stack pointers in tables for code without a caller, at which undeclared stacks begin.

use crate::bytes::{ByteOrder, Bytes};
use crate::list;

/// The last four bytes of the list: `SFSP`.
pub(crate) const STACK_POINTER_MAGIC: u32 = 0x5053_4653;
/// The size of one range in the list, in bytes.
pub(crate) const STACK_POINTER_SIZE: usize = 20;

/// The list in tables: ranges of code, each with its stack pointer.
pub(crate) type StackPointers<'a> = &'a [[u8; STACK_POINTER_SIZE]];

/// Returns the list at the end of these bytes, and the bytes before it; an empty list if there is none.
pub(crate) fn at_end(bytes: &[u8], order: ByteOrder) -> (StackPointers<'_>, &[u8]) {
    list::at_end(bytes, order, STACK_POINTER_MAGIC).unwrap_or((&[], bytes))
}

/// Returns the stack pointer for the address `pc` in the list of the table at address `table`; `None` if the list does not contain `pc`.
pub(crate) fn find(list: StackPointers<'_>, order: ByteOrder, table: u64, pc: u64) -> Option<u64> {
    // Only boot code has such ranges, so the list is short.
    list.iter().find_map(|entry| {
        let entry = Bytes::new(entry, order);
        let start = table.wrapping_add(entry.u64(0)?);
        let is_inside = pc.wrapping_sub(start) < entry.u32(8)?.into();
        is_inside.then_some(table.wrapping_add(entry.u64(12)?))
    })
}
