//! Verification of whole tables, in one pass over the bytes: a look-up notices damage only where it reads.

use core::fmt;

use crate::code_checksums::compare;
use crate::crc32::crc32;
use crate::rules::Rules;
use crate::sframe::error::ParseError;
use crate::sframe::format;
use crate::sframe::function::Function;
use crate::sframe::section::Section;
use crate::sframe::tables::Tables;
use crate::sframe::tail;
use crate::text::{Filled, texts};

/// The greatest number of rows to read, for each byte of a section. Functions may share rows, and in a damaged table all
/// functions may share all rows. Tables of real programs need less than one for each byte.
const ROWS_PER_BYTE: usize = 8;

/// The result of [`Tables::verify`] for valid tables: functions ascend and do not overlap, and all rows can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Verified {
    /// Every section has a checksum, and it is right: not a bit has changed since `linker` wrote them. Tables of other tools
    /// have none, so changes that leave them valid are not noticed.
    pub checksum: bool,
    /// The code in memory was compared, and is the code that was linked: [`ImageTables::verify_code`](crate::ImageTables::verify_code).
    pub code: bool,
}

/// Why [`Tables::verify`] refuses tables: the first thing found wrong.
///
/// Functions and rows are counted from 0, in the order of the table; functions through all sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Damage {
    /// There is no section, or the next one cannot be parsed.
    Section(ParseError),
    /// The checksum is wrong.
    Checksum,
    /// The function starts before the one before it. This is no damage in a table whose header does not say that it is
    /// sorted; but such a table cannot be verified in one pass.
    Unsorted {
        /// The second of the two.
        function: u32,
    },
    /// The function starts inside the one before it, or does not end before the last address.
    Overlap {
        /// The second of the two.
        function: u32,
    },
    /// The function's rows lie outside, or it is of a kind that the format does not define.
    Function {
        /// Its number.
        function: u32,
    },
    /// The row does not lie inside, or its words break the rules of the format.
    Row {
        /// The function's number.
        function: u32,
        /// The row's number in the function.
        row: u32,
    },
    /// The row starts before the one before it, or behind the function's end.
    RowOrder {
        /// The function's number.
        function: u32,
        /// The row's number in the function.
        row: u32,
    },
    /// The functions of a section have another number of rows than its header says.
    RowCount {
        /// What the header says.
        header: u32,
    },
    /// The functions share rows so often that reading all takes too long.
    TooManyRows,
    /// The tables are right, but code in memory is not the code that was linked.
    Code {
        /// The address of the first range of code with another checksum, at most 16 KiB long.
        start: u64,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filled().write(f)
    }
}

impl Damage {
    /// The text of [`Display`](fmt::Display).
    pub(crate) fn filled(&self) -> Filled {
        let (first, second) = match *self {
            Self::Section(error) => return error.filled(),
            Self::Code { start } => {
                return Filled::of("the code at @ is not the code that was linked", start);
            }
            Self::Unsorted { function: number }
            | Self::Overlap { function: number }
            | Self::Function { function: number }
            | Self::RowCount { header: number } => (number, 0),
            Self::Row { function, row } | Self::RowOrder { function, row } => (row, function),
            Self::Checksum | Self::TooManyRows => (0, 0),
        };
        texts! { *self, [first.into(), second.into()];
            Self::Checksum => "wrong checksum",
            Self::Unsorted { .. } => "function # starts before the one before it",
            Self::Overlap { .. } => "function # overlaps the one before it",
            Self::Function { .. } => "the entry of function # is bad",
            Self::Row { .. } => "row # of function # cannot be read",
            Self::RowOrder { .. } => "row # of function # starts in the wrong place",
            Self::RowCount { .. } => "the number of rows differs from # in the header",
            Self::TooManyRows => "too many functions share rows",
            Self::Code { .. } => "",
        }
    }
}

impl core::error::Error for Damage {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Section(error) => Some(error),
            _ => None,
        }
    }
}

impl Tables<'_> {
    /// Checks all of it: every checksum that there is; that functions ascend and do not overlap; that each one's rows lie
    /// inside, ascend, and can be read; that there are as many rows as the header says.
    ///
    /// Not refused is what assemblers write and what misleads no walk: a first row that starts behind the function's start
    /// (before it there is none), two rows with one start (the last one holds), and a row right at the function's end (it
    /// holds for nothing).
    ///
    /// Takes time in proportion to the size of the tables: a kernel calls it once, when a report begins, and hands the result to
    /// [`Self::verified`] in every walk of it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    ///
    /// ```
    /// use unwind::sframe::{Damage, Tables, Verified};
    ///
    /// # let mut table: [u8; 79] = [
    /// #     0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0,
    /// #     0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 7, 0, 0, 0,
    /// #     1, 0, 0, 0, 0,  0, 0,
    /// #     2, 0, 0, 0, 0,  0, 3, 8,  1, 5, 16, 0xf0,
    /// # ];
    /// // `table` describes a function of 16 bytes at 0x1000 and another one right behind it.
    /// assert_eq!(Tables::new(&table, 0x2000).verify(), Ok(Verified { checksum: false, code: false }));
    /// // The first one's size, with a wrong bit.
    /// table[36] ^= 1 << 5;
    /// assert_eq!(Tables::new(&table, 0x2000).verify(), Err(Damage::Overlap { function: 1 }));
    /// ```
    #[inline(never)]
    pub fn verify(&self) -> Result<Verified, Damage> {
        let mut before = Before::default();
        let mut checksum = true;
        for section in self.sections() {
            checksum &= verify(&section.map_err(Damage::Section)?, &mut before)?;
        }
        let code = false;
        Ok(Verified { checksum, code })
    }

    /// Does the same as [`ImageTables::verify_code`](crate::ImageTables::verify_code).
    pub(crate) fn verify_code(&self, code: &[u8], address: u64) -> Result<Verified, Damage> {
        let mut verified = self.verify()?;
        // Only a table with a right checksum is believed in what it says of the code.
        for section in self.sections().flatten().filter(|_| verified.checksum) {
            let list = tail::code_checksums(section.data);
            let order = section.functions.order;
            let same = compare(list, order, section.address, code, address);
            verified.code |= same.map_err(|start| Damage::Code { start })?;
        }
        Ok(verified)
    }
}

/// The functions verified so far.
#[derive(Default)]
struct Before {
    /// How many.
    count: u32,
    /// The start of the last one.
    start: u64,
    /// The first address behind all of them.
    end: u64,
}

impl Before {
    /// Adds a function, which must start at or after the end of all others. An empty one may also start where the one before it
    /// does, which a search expects.
    fn add(&mut self, function: &Function<'_>) -> Result<(), Damage> {
        let number = self.count;
        if function.start < self.start {
            return Err(Damage::Unsorted { function: number });
        }
        let overlap = Damage::Overlap { function: number };
        let again = function.size == 0 && function.start == self.start;
        if function.start < self.end && !again {
            return Err(overlap);
        }
        let end = function.start.checked_add(function.size.into());
        self.end = self.end.max(end.ok_or(overlap)?);
        self.start = function.start;
        self.count = number.saturating_add(1);
        Ok(())
    }
}

/// Verifies a section; returns whether it has a checksum.
fn verify(section: &Section<'_>, before: &mut Before) -> Result<bool, Damage> {
    let checksum = has_checksum(section.data)?;
    let mut left = section.data.len().saturating_mul(ROWS_PER_BYTE);
    // The rows of all functions; those that are not shared with an earlier function; and the end of the rows so far.
    let (mut all, mut stored, mut end) = (0_u64, 0_u64, 0);
    let size = section.rows.data.len();
    for index in 0..section.function_count() {
        let number = before.count;
        let function = section.function(index);
        let function = function.ok_or(Damage::Function { function: number })?;
        before.add(&function)?;
        let rest = verify_rows(&function, number, &mut left)?;
        let count = u64::from(function.row_count);
        all = all.saturating_add(count);
        if size.saturating_sub(function.rows.len()) >= end {
            stored = stored.saturating_add(count);
            end = size.saturating_sub(rest.len());
        }
    }
    // `linker`, which lets functions share rows, counts shared rows once; other writers do not share.
    let header = section.row_count();
    if ![all, stored].contains(&header.into()) {
        return Err(Damage::RowCount { header });
    }
    Ok(checksum)
}

/// Whether a table ends with a checksum, which must be right.
fn has_checksum(table: &[u8]) -> Result<bool, Damage> {
    let Some((checked, &[a, b, c, d, magic @ ..])) =
        table.split_last_chunk::<{ format::CHECKSUM_SIZE }>()
    else {
        return Ok(false);
    };
    let expected = format::CHECKSUM_MAGIC.to_le_bytes();
    let wrong = magic
        .iter()
        .zip(expected)
        .filter(|(is, to_be)| *is != to_be);
    match wrong.count() {
        0 if crc32(checked) == u32::from_le_bytes([a, b, c, d]) => Ok(true),
        // One wrong byte is a damaged magic: taken for no checksum, it would hide that damage.
        0 | 1 => Err(Damage::Checksum),
        _ => Ok(false),
    }
}

/// Verifies a function's rows, and returns the bytes after them. At most `left` rows may be read.
fn verify_rows<'a>(
    function: &Function<'a>,
    number: u32,
    left: &mut usize,
) -> Result<&'a [u8], Damage> {
    let size = match function.is_pc_mask() {
        true => function.block_size(),
        false => function.size,
    };
    if function.is_unknown_kind() || (function.is_pc_mask() && size == 0) {
        return Err(Damage::Function { function: number });
    }
    let mut rest = function.rows;
    let mut last = 0;
    for index in 0..function.row_count {
        *left = left.checked_sub(1).ok_or(Damage::TooManyRows)?;
        let bad = Damage::Row {
            function: number,
            row: index,
        };
        let (raw, behind) = function.first_row(rest).ok_or(bad)?;
        let mut rules = Rules::NO_CALLER;
        function
            .format
            .decode(raw, function.is_flexible(), &mut rules)
            .ok_or(bad)?;
        if raw.start < last || raw.start > size {
            return Err(Damage::RowOrder {
                function: number,
                row: index,
            });
        }
        (rest, last) = (behind, raw.start);
    }
    Ok(rest)
}
