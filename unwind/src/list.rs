//! Lists at the end of tables: entries of one size, then their number, then a magic number.

use crate::bytes::ByteOrder;

/// Returns the entries of the list at the end of these bytes, and the bytes before the list; `None` if there is no list with this magic number.
pub(crate) fn at_end<const SIZE: usize>(
    bytes: &[u8],
    order: ByteOrder,
    magic: u32,
) -> Option<(&[[u8; SIZE]], &[u8])> {
    let (before, found) = bytes.split_last_chunk::<4>()?;
    let (before, count) = before.split_last_chunk::<4>()?;
    if order.number(found) != magic {
        return None;
    }
    let count = usize::try_from(order.number(count)).ok()?;
    let size = count.checked_mul(SIZE)?;
    let (before, list) = before.split_at_checked(before.len().checked_sub(size)?)?;
    Some((list.as_chunks().0, before))
}
