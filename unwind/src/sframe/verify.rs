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

/// The maximum number of rows to read, for each byte of a section. Functions may share rows, and in a damaged table all
/// functions may share all rows. Tables of real programs need less than one row for each byte.
const ROWS_PER_BYTE: usize = 8;

/// The result of a verification of valid tables: functions are sorted and do not overlap, and all rows can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Verified {
    /// Whether every section has a checksum, which is right: no bit changed after `sframe-link` wrote the section. Tables of other tools have
    /// no checksum, so a change that leaves them valid is not noticed.
    pub checksum: bool,
    /// Whether the code in memory was compared and is the code that was linked: see
    /// [`ImageTables::verify_code`](crate::ImageTables::verify_code).
    pub code: bool,
}

/// The first damage that a verification of tables found.
///
/// Functions and rows are numbered from 0, in the order of the table. Functions are numbered through all sections.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::sframe::{Damage, Tables};
///
/// let mut damaged = TABLE;
/// damaged[40] ^= 1;
/// let damage = Tables::new(&damaged, 0x2000).verify().expect_err("a wrong bit");
/// assert_eq!(damage, Damage::Checksum);
/// assert_eq!(damage.to_string(), "wrong checksum");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Damage {
    /// A section cannot be parsed, or there is no section.
    Section(ParseError),
    /// The checksum is wrong.
    Checksum,
    /// A function starts before the previous function. This is allowed in a table whose header does not contain the flag for sorted tables, but
    /// such a table cannot be verified in one pass.
    Unsorted {
        /// The number of the function.
        function: u32,
    },
    /// A function starts inside the previous function, or extends past the last address.
    Overlap {
        /// The number of the function.
        function: u32,
    },
    /// The rows of a function are outside of the section, or the function is of a kind that the format does not define.
    Function {
        /// The number of the function.
        function: u32,
    },
    /// A row is not wholly inside the section, or its words violate the format.
    Row {
        /// The number of the function.
        function: u32,
        /// The number of the row in the function.
        row: u32,
    },
    /// A row starts before the previous row, or after the end of the function.
    RowOrder {
        /// The number of the function.
        function: u32,
        /// The number of the row in the function.
        row: u32,
    },
    /// The number of rows of all functions differs from the number in the section's header.
    RowCount {
        /// The number in the header.
        header: u32,
    },
    /// The functions share rows so often that reading all rows would take too long.
    TooManyRows,
    /// The tables are valid, but code in memory differs from the code that was linked.
    Code {
        /// The address of the first range of code with a wrong checksum. The range has at most 16 KiB.
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
                return Filled::of("the code at address @ differs from the linked code", start);
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
            Self::Unsorted { .. } => "function number # in the unwind table starts before the previous function",
            Self::Overlap { .. } => "function number # in the unwind table overlaps the previous function",
            Self::Function { .. } => "the unwind table entry of function number # is invalid",
            Self::Row { .. } => "row number # of function number # in the unwind table cannot be read",
            Self::RowOrder { .. } => "row number # of function number # in the unwind table starts before the previous row or after the function",
            Self::RowCount { .. } => "the unwind table header has a row count of #, but the functions have a different number of rows",
            Self::TooManyRows => "too many functions share unwind rows, so that checking all rows would take too long",
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
    /// Verifies the tables: every checksum; that functions are sorted and do not overlap; that the rows of each function are inside the
    /// section, are sorted, and can be read; and that the number of rows is the number in the header.
    ///
    /// Some tables of assemblers pass although they are unusual, because they do not mislead a walk: a first row after the function's start
    /// (no row exists before it), two rows with the same start (the last is used), and a row at the function's end (it is never used).
    ///
    /// The time is proportional to the size of the tables. Call this once, when a report begins, and pass the result to
    /// [`Self::verified`] for every walk.
    ///
    /// # Errors
    /// Returns an error if there are no tables or they are damaged: the first damage.
    ///
    /// ```
    /// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
    /// # use example::*;
    /// use unwind::sframe::{Damage, Tables, Verified};
    ///
    /// assert_eq!(Tables::new(&TABLE, 0x2000).verify(), Ok(Verified { checksum: true, code: false }));
    ///
    /// // Tables of other tools have no checksum.
    /// let mut table = ENTRY_TABLE;
    /// assert_eq!(Tables::new(&table, 0x2000).verify(), Ok(Verified { checksum: false, code: false }));
    /// // One bit of the number of rows in the header is wrong.
    /// table[12] ^= 2;
    /// assert_eq!(Tables::new(&table, 0x2000).verify(), Err(Damage::RowCount { header: 3 }));
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

    /// Verifies the tables and the code in memory: see [`ImageTables::verify_code`](crate::ImageTables::verify_code).
    pub(crate) fn verify_code(&self, code: &[u8], address: u64) -> Result<Verified, Damage> {
        let mut verified = self.verify()?;
        // The checksums of the code count only in a table whose own checksum is right.
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
    /// Adds a function, which must start at or after the end of all others. An empty function may also start where the previous function does,
    /// which a search expects.
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
