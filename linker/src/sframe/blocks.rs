//! The block index: for every block of code, the function and the row that its first byte belongs to. A reader that knows the
//! index (`unwind`) starts its search there, instead of searching all functions, and all rows of a long function. The layout
//! is documented in [`unwind::sframe::format`].

use unwind::sframe::format;

/// A function in the table, as far as blocks are concerned.
pub(super) struct Code<'a> {
    /// Address of the first instruction.
    pub(super) start: u64,
    /// Bytes of code.
    pub(super) size: u32,
    /// Attributes, rows, and whatever follows.
    pub(super) rows: &'a [u8],
}

impl Code<'_> {
    fn row_count(&self) -> u64 {
        self.rows
            .first_chunk()
            .map_or(0, |count| u16::from_le_bytes(*count).into())
    }
}

/// A block index before its address is known.
#[derive(Debug)]
pub(super) struct Blocks {
    /// Address of the first block.
    start: u64,
    /// Bytes of a block, as a power of two.
    shift: u8,
    entries: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// The last function that starts at or before the block.
    function: u32,
    /// How many of its rows end before the block.
    rows: u16,
    /// The bytes of those rows.
    bytes: u16,
}

/// Functions further apart than this, in bytes, are not indexed together: a kernel's boot code may lie at the other end
/// of the address space.
const GAP: u64 = 1 << 20;
/// The smallest number of rows per block. With it a table becomes a twentieth larger; with half of it, look-up is not faster.
const ROWS: u64 = 40;

impl Blocks {
    /// The index of the largest part of a program without a gap. `functions` are in ascending order.
    pub(super) fn new(functions: &[Code<'_>]) -> Option<Self> {
        let parts = functions.chunk_by(|a, b| b.start.wrapping_sub(a.start) < GAP);
        let part = parts.max_by_key(|part| part.len())?;
        let (first, last) = (part.first()?, part.last()?);
        let start = first.start;
        let before = functions.partition_point(|function| function.start < start);
        let length = last
            .start
            .wrapping_sub(start)
            .wrapping_add(last.size.into());
        let rows: u64 = part.iter().map(Code::row_count).sum();
        let shift = (0..63).find(|shift| length >> shift < (rows / ROWS).max(1))?;
        // One entry more, for the end of the last block's functions.
        let blocks = 0..=(length >> shift) + 1;
        let entries = blocks.map(|block| {
            let at = start.saturating_add(block << shift);
            let index = part.partition_point(|function| function.start <= at) - 1;
            let (rows, bytes) = passed(&part[index], at);
            Entry {
                function: (before + index) as u32,
                rows,
                bytes,
            }
        });
        Some(Self {
            start,
            shift,
            entries: entries.collect(),
        })
    }

    /// Size of the index, in bytes.
    pub(super) fn size(&self) -> usize {
        format::BLOCKS_HEADER_SIZE + self.entries.len() * format::BLOCK_ENTRY_SIZE
    }

    /// Appends the index, which comes to lie at `address`.
    pub(super) fn write(&self, out: &mut Vec<u8>, address: u64) {
        out.extend_from_slice(&format::BLOCKS_MAGIC.to_le_bytes());
        out.extend_from_slice(&[self.shift, 0, 0, 0]);
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        let field = address.wrapping_add(12);
        out.extend_from_slice(&self.start.wrapping_sub(field).to_le_bytes());
        for entry in &self.entries {
            out.extend_from_slice(&entry.function.to_le_bytes());
            out.extend_from_slice(&entry.rows.to_le_bytes());
            out.extend_from_slice(&entry.bytes.to_le_bytes());
        }
    }
}

/// How many of a function's rows end before an address in it, and their bytes. Both 0 if they are more than an entry can
/// hold, or if the function is one of repeated blocks (PC-mask).
fn passed(function: &Code<'_>, address: u64) -> (u16, u16) {
    let nothing = (0, 0);
    let offset = address - function.start;
    let [low, high, info, _, _, rows @ ..] = function.rows else {
        return nothing;
    };
    if info & format::INFO_PC_MASK != 0 {
        return nothing;
    }
    let width = 1 << (info & format::INFO_START_WIDTH);
    let mut at = 0;
    let mut row = nothing;
    for number in 0..u16::from_le_bytes([*low, *high]) {
        let start = &rows[at..at + width];
        let start = start
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        if start > offset {
            break;
        }
        let Ok(bytes) = u16::try_from(at) else {
            return nothing;
        };
        row = (number, bytes);
        let info = rows[at + width];
        let words = usize::from(info >> format::ROW_COUNT_SHIFT & format::ROW_COUNT);
        at += width + 1 + (words << (info >> format::ROW_WIDTH_SHIFT & format::ROW_WIDTH));
    }
    row
}

#[cfg(test)]
mod tests {
    use unwind::sframe::{Base, LookupError, Row, Rule, Tables, format};
    use unwind::{Found, RowSource, Rules};

    use crate::architecture;
    use crate::cfi::Frames;
    use crate::function::Function;
    use crate::sframe::Table;

    /// A function as unrolled code makes them: thousands of rows.
    fn long() -> Frames {
        let rows = (0..5000).map(|index| Row {
            offset: 4 * index,
            cfa: Rule::Value {
                base: Base::StackPointer,
                offset: 8 + 8 * i64::from(index % 7),
            },
            return_address: Rule::Saved {
                base: Base::Cfa,
                offset: -8,
            },
            frame_pointer: Rule::Same,
            signed: false,
        });
        let function = Function {
            start: 0x1000,
            size: 20_000,
            rows: rows.collect(),
            signal: false,
            key_b: false,
            block: None,
        };
        Frames {
            functions: vec![function],
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_search_does_not_read_the_rows_before_its_block() {
        let mut frames = long();
        let last = frames.functions[0].rows[4999];
        let address = 0x10_0000;
        for with_blocks in [false, true] {
            let mut table = Table::new(&architecture::X86_64, &mut frames);
            if with_blocks {
                table = table.with_blocks();
            }
            let mut bytes = table.to_bytes(address);
            // The first of the rows, of 4 bytes each, gets words of no width: no reader gets past it.
            let info = bytes.len() - 5000 * 4 + 2;
            bytes[info] |= format::ROW_WIDTH << format::ROW_WIDTH_SHIFT;
            let tables = Tables::new(&bytes, address);
            let mut found = Found::EMPTY;
            let found = tables
                .look_up(0x1000 + 19_999, &mut found)
                .map(|()| found.rules);
            let expected = if with_blocks {
                Ok(Rules::from(&last))
            } else {
                Err(LookupError::Damaged)
            };
            assert_eq!(found, expected, "with blocks: {with_blocks}");
        }
    }

    #[test]
    fn an_index_costs_a_twentieth() {
        let table = Table::new(&architecture::X86_64, &mut long());
        let plain = table.size();
        let size = table.with_blocks().size();
        assert!(plain < size && size < plain + plain / 16, "{plain}, {size}");
    }
}
