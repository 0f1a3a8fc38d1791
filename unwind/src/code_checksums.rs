//! The checksums of code that tables contain: whether the code in memory is the code that was linked.

use crate::bytes::{ByteOrder, Bytes};
use crate::crc32::crc32;
use crate::list;
use crate::memory::Range;

/// Last four bytes of the list: `SFCD`.
pub(crate) const CODE_MAGIC: u32 = 0x4443_4653;
/// Size of one range in the list, in bytes.
pub(crate) const CODE_CHECKSUM_SIZE: usize = 16;

/// The list in tables: ranges of code in ascending order, each with its checksum.
pub(crate) type CodeChecksums<'a> = &'a [[u8; CODE_CHECKSUM_SIZE]];

/// Returns the list at the end of these bytes, and the bytes before it; an empty list if there is none.
pub(crate) fn at_end(bytes: &[u8], order: ByteOrder) -> (CodeChecksums<'_>, &[u8]) {
    list::at_end(bytes, order, CODE_MAGIC).unwrap_or((&[], bytes))
}

/// Iterator over the ranges of code whose checksums the tables contain.
#[derive(Clone, Debug)]
pub(crate) struct CheckedCode<'a> {
    list: CodeChecksums<'a>,
    order: ByteOrder,
    table: u64,
}

impl<'a> CheckedCode<'a> {
    /// No ranges.
    pub(crate) const NONE: Self = Self::new(&[], ByteOrder::Little, 0);

    /// The ranges of this list, which the table at address `table` contains.
    pub(crate) const fn new(list: CodeChecksums<'a>, order: ByteOrder, table: u64) -> Self {
        Self { list, order, table }
    }
}

impl Iterator for CheckedCode<'_> {
    type Item = Range;

    fn next(&mut self) -> Option<Range> {
        let (entry, rest) = self.list.split_first()?;
        self.list = rest;
        let entry = Bytes::new(entry, self.order);
        let start = self.table.wrapping_add(entry.u64(0)?);
        Some(Range::new(start, start.checked_add(entry.u32(8)?.into())?))
    }
}

/// Compares the code in memory with the list of the table at address `table`. Returns whether the code was compared: at least one range is
/// in the memory, and none is there in part. Ranges that are there in part are passed over.
///
/// # Errors
/// Returns an error if code differs from the code that was linked: the address of the first such range.
pub(crate) fn compare(
    list: CodeChecksums<'_>,
    order: ByteOrder,
    table: u64,
    code: &[u8],
    address: u64,
) -> Result<bool, u64> {
    let (mut is_compared, mut is_whole) = (false, true);
    // Ranges ascend, so that no byte is read twice, whatever the list contains.
    let mut end = 0;
    for entry in list {
        let entry = Bytes::new(entry, order);
        let (Some(start), Some(size), Some(checksum)) = (entry.u64(0), entry.u32(8), entry.u32(12))
        else {
            return Ok(false);
        };
        let start = table.wrapping_add(start);
        let offset = start.wrapping_sub(address);
        if offset >= code.len() as u64 {
            is_whole &= address.wrapping_sub(start) >= size.into();
            continue;
        }
        // It is less than the length, so it fits.
        let offset = offset as usize;
        let bytes = (code.get(offset..)).and_then(|rest| rest.get(..size as usize));
        let Some(bytes) = bytes.filter(|_| offset >= end) else {
            is_whole = false;
            continue;
        };
        end = offset.saturating_add(bytes.len());
        if crc32(bytes) != checksum {
            return Err(start);
        }
        is_compared = true;
    }
    Ok(is_compared && is_whole)
}
