//! The block index: for every block of code, which function its first byte belongs to, and which of that function's rows. An
//! extension of SFrame that `linker` can write; readers that do not know it skip it.

use crate::bytes::{ByteOrder, Bytes};
use crate::sframe::format;

/// A block index, borrowed. It gives the start of a search. A wrong one can lead to a wrong row; only the section's checksum, and
/// the comparison of each row when it is linked, vouch for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks<'a> {
    entries: &'a [[u8; format::BLOCK_ENTRY_SIZE]],
    /// Address of the first block.
    start: u64,
    /// Bytes of a block, as a power of two.
    shift: u8,
}

/// The start of a search.
pub(super) struct SearchStart {
    /// The function that the block begins in.
    pub(super) function: usize,
    /// The function that the next block begins in.
    pub(super) last: usize,
    pub(super) skipped: Skipped,
}

/// Rows of a function that end before the address searched for: their number, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skipped {
    pub(super) rows: u16,
    pub(super) bytes: u16,
}

impl<'a> Blocks<'a> {
    pub(super) const NONE: Self = Self {
        entries: &[],
        start: 0,
        shift: 0,
    };

    /// The index in `gap`, the bytes between functions and rows, which lie at `address`.
    pub(super) fn parse(gap: &'a [u8], address: u64) -> Option<Self> {
        let bytes = Bytes::new(gap, ByteOrder::Little);
        if bytes.u32(0)? != format::BLOCKS_MAGIC {
            return None;
        }
        let shift = bytes.u8(4)?;
        let count = usize::try_from(bytes.u32(8)?).ok()?;
        let field = address.wrapping_add(12);
        let start = bytes.u64(12)?.wrapping_add(field);
        let (entries, _) = gap.get(format::BLOCKS_HEADER_SIZE..)?.as_chunks();
        let entries = entries.get(..count)?;
        Some(Self {
            entries,
            start,
            shift,
        })
    }

    /// Whether there is none.
    pub(super) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The start of the search for `pc`.
    #[inline(always)]
    pub(super) fn begin(&self, pc: u64) -> Option<SearchStart> {
        let block = pc.wrapping_sub(self.start).checked_shr(self.shift.into())?;
        let block = usize::try_from(block).ok()?;
        let [here, next, ..] = self.entries.get(block..)? else {
            return None;
        };
        let function = |entry: &[u8; 8]| {
            let [a, b, c, d, ..] = *entry;
            u32::from_le_bytes([a, b, c, d]) as usize
        };
        let [.., a, b, c, d] = *here;
        Some(SearchStart {
            function: function(here),
            last: function(next),
            skipped: Skipped {
                rows: u16::from_le_bytes([a, b]),
                bytes: u16::from_le_bytes([c, d]),
            },
        })
    }
}
