//! The block index: for every block of code, which function its first byte belongs to, and which of that function's
//! rows. An extension of SFrame that `linker` can write; readers that do not know it pass over it.

use crate::bytes::{ByteOrder, Bytes};
use crate::sframe::format;

/// A block index, borrowed. It says where a search may begin: an index that is wrong costs time, or the right row of a
/// damaged table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks<'a> {
    entries: &'a [[u8; format::BLOCK_ENTRY_SIZE]],
    /// Address of the first block.
    start: u64,
    /// Bytes of a block, as a power of two.
    shift: u8,
}

/// Where to begin.
pub(super) struct Begin {
    /// The function that the block begins in.
    pub(super) function: usize,
    /// The function that the next block begins in.
    pub(super) last: usize,
    pub(super) passed: Passed,
}

/// Rows of a function that end before the code that is looked for: how many, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
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

    /// Where to begin the search for `pc`.
    #[inline(always)]
    pub(super) fn begin(&self, pc: u64) -> Option<Begin> {
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
        Some(Begin {
            function: function(here),
            last: function(next),
            passed: Passed {
                rows: u16::from_le_bytes([a, b]),
                bytes: u16::from_le_bytes([c, d]),
            },
        })
    }
}
