//! Decoding rows of a section.

use crate::bytes::ByteOrder;
use crate::lookup::LookupError;
use crate::row::{Base, Row, Rule};
use crate::sframe::abi::Abi;
use crate::sframe::format;
use crate::sframe::words::{Words, take};

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
    /// Width code of the start offsets: 0, 1, 2 are 1, 2, 4 bytes.
    pub(crate) start_width: u8,
    pub(crate) flexible: bool,
}

/// An encoded row: its parts are known, but its words are not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRow<'a> {
    start: u32,
    info: u8,
    words: &'a [u8],
}

impl<'a> RawRow<'a> {
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
    /// The first row of `rows`, and the rows after it. `None` if it does not lie wholly inside, or its words have no valid
    /// width.
    #[inline(always)]
    pub(crate) fn first<'a>(&self, rows: &'a [u8]) -> Option<(RawRow<'a>, &'a [u8])> {
        let mut rest = rows;
        let start = take(&mut rest, self.order, self.start_width)?;
        let (&info, rest) = rest.split_first()?;
        let (words, rest) = rest.split_at_checked(words_size(info)?)?;
        Some((RawRow { start, info, words }, rest))
    }

    /// Of the first `count` of `rows`, decodes the last one that starts at or before `offset` into `row`.
    ///
    /// Rows differ in size, so they are read one after another, except their words. Neighbours mostly have equal info bytes;
    /// comparing them lets the CPU predict where the next row is, instead of waiting for the load.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        rows: &[u8],
        count: u32,
        offset: u32,
        row: &mut Row,
    ) -> Result<(), LookupError> {
        let found = match self.start_width {
            0 => scan::<1>(rows, count, self.order, offset),
            1 => scan::<2>(rows, count, self.order, offset),
            2 => scan::<4>(rows, count, self.order, offset),
            _ => None,
        };
        let damaged = LookupError::Damaged;
        let found = found.ok_or(damaged)?;
        let found = found.ok_or(LookupError::NoRow)?;
        let (raw, _) = self.first(found).ok_or(damaged)?;
        self.decode(raw, row).ok_or(damaged)
    }

    /// Decodes an encoded row into `row`; `None` if its words are not valid for its ABI and kind.
    #[inline(always)]
    pub(crate) fn decode(&self, raw: RawRow<'_>, row: &mut Row) -> Option<()> {
        if self.flexible || raw.words.is_empty() {
            self.flexible_rules(raw, row)
        } else {
            self.default_rules(raw, row)
        }
    }

    /// Specification, "SFrame Frame Row Entries": CFA, then the return address and the frame pointer unless fixed.
    #[inline(always)]
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

/// The bytes from the last of the first `count` of `rows` whose start, a number of `N` bytes, is at most `offset`. The inner
/// `None`: there is no such row. The outer one: a row does not lie wholly inside, so the right one is not known.
///
/// Generic over the width, because a test of the width for every row took most of the time.
#[inline(always)]
fn scan<const N: usize>(
    rows: &[u8],
    count: u32,
    order: ByteOrder,
    offset: u32,
) -> Option<Option<&[u8]>> {
    let mut rest = rows;
    let mut found = None;
    let (mut known, mut size) = (0, 0);
    for _ in 0..count {
        let (start, row) = rest.split_first_chunk::<N>()?;
        let (&info, words) = row.split_first()?;
        if info != known {
            size = words_size(info)?;
            known = info;
        }
        let next = words.get(size..)?;
        if order.number(*start) > offset {
            break;
        }
        found = Some(rest);
        rest = next;
    }
    Some(found)
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
