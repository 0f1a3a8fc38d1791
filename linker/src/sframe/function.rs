//! Encodes the attributes and the rows of one function.

use unwind::sframe::format;

use super::Version;
use super::row::{self, Word};
use crate::architecture::Architecture;
use crate::function::{Construct, Function};

/// An encoded function, without its address and size.
#[derive(Debug)]
pub(super) struct Encoded {
    /// How many rows.
    pub(super) count: u32,
    /// `func_info`.
    pub(super) info: u8,
    /// `func_info2`: version 3 only.
    pub(super) kind: u8,
    /// `rep_size`.
    pub(super) block: u8,
    /// The rows' bytes.
    pub(super) rows: Vec<u8>,
}

/// Encodes a function.
pub(super) fn encode(
    function: &Function,
    architecture: &Architecture,
    version: Version,
) -> Result<Encoded, Construct> {
    let count = function.rows.len();
    // Version 2 counts in 32 bits, and a function of more rows than that is longer than 4 GiB.
    if version == Version::V3 && count > usize::from(u16::MAX) {
        return Err(Construct::TooManyRows(count));
    }
    if version == Version::V2 && function.signal {
        return Err(Construct::NeedsVersion3("signal frames"));
    }
    let default: Option<Vec<_>> = function
        .rows
        .iter()
        .map(|row| row::default_words(row, architecture, version))
        .collect();
    let (kind, words) = match default {
        Some(words) => (format::KIND_DEFAULT, words),
        None if version == Version::V2 => return Err(Construct::NeedsVersion3("its rules")),
        None => (format::KIND_FLEXIBLE, flexible(function, architecture)?),
    };
    let last = function.rows.last().map_or(0, |row| row.offset);
    let start_width = match last {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        _ => 2,
    };
    let mut info = start_width;
    for (set, bit) in [
        (function.block.is_some(), format::INFO_PC_MASK),
        (function.key_b, format::INFO_PAUTH_KEY_B),
        (function.signal, format::INFO_SIGNAL),
    ] {
        info |= if set { bit } else { 0 };
    }
    let mut rows = Vec::new();
    let little = !architecture.is_big_endian();
    for (row, (from_sp, words)) in function.rows.iter().zip(&words) {
        let mut flags = 0;
        if *from_sp {
            flags |= format::ROW_CFA_SP;
        }
        if row.signed {
            flags |= format::ROW_RETURN_ADDRESS_SIGNED;
        }
        row::write(&mut rows, little, row.offset, start_width, flags, words);
    }
    Ok(Encoded {
        count: count as u32,
        info,
        kind,
        block: function.block.unwrap_or(0),
        rows,
    })
}

/// The words of the rows of a function of the flexible kind.
fn flexible(
    function: &Function,
    architecture: &Architecture,
) -> Result<Vec<(bool, Vec<Word>)>, Construct> {
    function
        .rows
        .iter()
        .map(|row| {
            // The bit that says "from SP" has no meaning here: the control word says it.
            let words = row::flexible_words(row, architecture).map(|words| (false, words));
            words.ok_or_else(|| Construct::Rule {
                of: "row",
                rule: format!("{row:?}"),
            })
        })
        .collect()
}
