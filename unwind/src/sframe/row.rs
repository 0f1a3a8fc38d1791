//! Decoding rows of a section.

use crate::bytes::ByteOrder;
use crate::row::{Base, Row, Rule};
use crate::sframe::abi::Abi;
use crate::sframe::format;
use crate::sframe::words::Words;

/// What the rows of one function have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFormat {
    pub(crate) order: ByteOrder,
    pub(crate) version: u8,
    pub(crate) abi: Abi,
    /// Header: the frame pointer's fixed offset from the CFA, 0 when rows tell it.
    pub(crate) fixed_fp: i8,
    /// Header: the return address's fixed offset from the CFA, 0 when rows tell it.
    pub(crate) fixed_ra: i8,
}

/// An encoded row: its parts are known, but its words are not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRow<'a> {
    pub(super) start: u32,
    info: u8,
    words: &'a [u8],
}

impl<'a> RawRow<'a> {
    /// The row with this start and info byte, whose words are the first of `bytes`, and the bytes after it. `None` if it does not
    /// lie wholly inside, or its words have no valid width.
    #[inline(always)]
    pub(super) fn split(start: u32, info: u8, bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (words, rest) = bytes.split_at_checked(words_size(info)?)?;
        Some((Self { start, info, words }, rest))
    }

    const fn is_signed(&self) -> bool {
        self.info & format::ROW_RETURN_ADDRESS_SIGNED != 0
    }

    const fn words(&self, order: ByteOrder) -> Words<'a> {
        Words {
            rest: self.words,
            order,
            width: (self.info >> format::ROW_WIDTH_SHIFT) & format::ROW_WIDTH,
        }
    }
}

impl RowFormat {
    /// Decodes an encoded row, of a function of the `flexible` kind or not, into `row`; `None` if its words are not valid for its
    /// ABI and kind.
    #[inline(always)]
    pub(crate) fn decode(&self, raw: RawRow<'_>, flexible: bool, row: &mut Row) -> Option<()> {
        if flexible || raw.words.is_empty() {
            self.flexible_rules(raw, row)
        } else {
            self.default_rules(raw, row)
        }
    }

    /// Specification, "SFrame Frame Row Entries": CFA, then the return address and the frame pointer unless fixed.
    #[inline(never)]
    fn default_rules(&self, raw: RawRow<'_>, row: &mut Row) -> Option<()> {
        let mut words = raw.words(self.order);
        let base = if raw.info & format::ROW_CFA_SP != 0 {
            Base::StackPointer
        } else {
            Base::FramePointer
        };
        let offset = self.cfa_offset(words.signed()?);
        let return_address = match self.fixed_ra {
            0 => words.signed().map_or(Rule::Same, |word| self.tracked(word)),
            fixed => saved_at_cfa(i64::from(fixed)),
        };
        let frame_pointer = match self.fixed_fp {
            0 => words.signed().map_or(Rule::Same, |word| self.tracked(word)),
            fixed => saved_at_cfa(i64::from(fixed)),
        };
        *row = Row {
            offset: raw.start,
            cfa: Rule::Value { base, offset },
            return_address,
            frame_pointer,
            signed: raw.is_signed(),
        };
        words.is_empty().then_some(())
    }

    /// Version 3, flexible functions: pairs of control word and offset for CFA, return address, frame pointer. Also rows
    /// without words, of any function: there is no caller.
    #[inline(never)]
    fn flexible_rules(&self, raw: RawRow<'_>, row: &mut Row) -> Option<()> {
        *row = Row {
            offset: raw.start,
            signed: raw.is_signed(),
            ..Row::EMPTY
        };
        if raw.words.is_empty() {
            return Some(());
        }
        row.return_address = match self.fixed_ra {
            0 => Rule::Same,
            fixed => saved_at_cfa(i64::from(fixed)),
        };
        row.frame_pointer = Rule::Same;
        let mut words = raw.words(self.order);
        self.pair(&mut words, true, &mut row.cfa)?;
        self.pair(&mut words, false, &mut row.return_address)?;
        self.pair(&mut words, false, &mut row.frame_pointer)?;
        let from_cfa = match row.cfa {
            Rule::Value { base, .. } | Rule::Saved { base, .. } => base == Base::Cfa,
            Rule::Same | Rule::Undefined => true,
        };
        (words.is_empty() && !from_cfa).then_some(())
    }

    /// Decodes a control word and its offset, if there are any, into `rule`. A control word 0 has no offset and does not change
    /// `rule`.
    #[inline(never)]
    fn pair(&self, words: &mut Words<'_>, is_cfa: bool, rule: &mut Rule) -> Option<()> {
        let control = words.unsigned().unwrap_or(0);
        if control == 0 {
            return Some(());
        }
        let base = if control & format::CONTROL_REGISTER != 0 {
            self.abi.base(control >> format::CONTROL_REGISTER_SHIFT)
        } else {
            Base::Cfa
        };
        let word = words.signed()?;
        let offset = if is_cfa {
            self.cfa_offset(word)
        } else {
            i64::from(word)
        };
        *rule = if control & format::CONTROL_DEREFERENCE != 0 {
            Rule::Saved { base, offset }
        } else {
            Rule::Value { base, offset }
        };
        Some(())
    }

    fn cfa_offset(&self, word: i32) -> i64 {
        match self.abi {
            Abi::S390x => i64::from(word)
                .wrapping_mul(format::S390X_CFA_SCALE)
                .wrapping_add(format::S390X_CFA_ADJUSTMENT),
            _ => i64::from(word),
        }
    }

    /// A word for the return address or the frame pointer. On s390x 0 is padding, and version 2 errata 1 puts
    /// the number of the register that holds the value above a set bit 0.
    fn tracked(&self, word: i32) -> Rule {
        match self.abi {
            Abi::S390x if word == 0 => Rule::Same,
            Abi::S390x if self.version == 2 && word & 1 != 0 => Rule::Value {
                base: self.abi.base(word.cast_unsigned() >> 1),
                offset: 0,
            },
            _ => saved_at_cfa(i64::from(word)),
        }
    }
}

/// Of the first `count` of `rows`, the last one whose start is at most `offset`. The inner `None`: there is no such row. The
/// outer one: a row does not lie wholly inside, so the right one is not known.
///
/// A start has `N` bytes, a head (start and info) `H`. Generic over the width, because a test of the width for every row took
/// most of the time. Rows differ in size, so they are read one after another, except their words. Neighbours mostly have equal
/// info bytes; comparing them lets the CPU predict where the next row is, instead of waiting for the load.
#[inline(always)]
pub(crate) fn last_at_most<const N: usize, const H: usize>(
    rows: &[u8],
    count: u32,
    order: ByteOrder,
    offset: u32,
) -> Option<Option<RawRow<'_>>> {
    let mut rest = rows;
    let mut found: &[u8] = &[];
    let (mut known, mut size) = (0, H);
    for _ in 0..count {
        let (start, info) = head::<N>(rest.first_chunk::<H>()?, order)?;
        if info != known {
            size = H.wrapping_add(words_size(info)?);
            known = info;
        }
        let next = rest.get(size..)?;
        if start > offset {
            break;
        }
        found = rest;
        rest = next;
    }
    if found.is_empty() {
        return Some(None);
    }
    let (found, rest) = found.split_first_chunk::<H>()?;
    let (start, info) = head::<N>(found, order)?;
    RawRow::split(start, info, rest).map(|(row, _)| Some(row))
}

/// The start, of `N` bytes, and the info byte of a row.
#[inline(always)]
fn head<const N: usize>(head: &[u8], order: ByteOrder) -> Option<(u32, u8)> {
    let (start, info) = head.split_first_chunk::<N>()?;
    Some((order.number(start), *info.first()?))
}

/// Bytes of a row's words, by its info byte; `None` for an invalid width.
#[inline(always)]
fn words_size(info: u8) -> Option<usize> {
    let count = (info >> format::ROW_COUNT_SHIFT) & format::ROW_COUNT;
    let width = (info >> format::ROW_WIDTH_SHIFT) & format::ROW_WIDTH;
    (width != format::ROW_WIDTH).then(|| usize::from(count) << width)
}

const fn saved_at_cfa(offset: i64) -> Rule {
    Rule::Saved {
        base: Base::Cfa,
        offset,
    }
}
