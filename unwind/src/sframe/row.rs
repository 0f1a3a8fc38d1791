//! Decoding rows of a section.

use crate::bytes::ByteOrder;
use crate::lookup::LookupError;
use crate::row::{Base, Row, Rule};
use crate::rules::{Packed, Rules};
use crate::sframe::abi::Abi;
use crate::sframe::format;
use crate::sframe::section::Section;
use crate::sframe::words::Words;

/// The format that the rows of a function have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFormat {
    pub(crate) order: ByteOrder,
    pub(crate) version: u8,
    pub(crate) abi: Abi,
    /// The frame pointer's fixed offset from the CFA in the header; 0 if rows contain it.
    pub(crate) fixed_fp: i8,
    /// The return address's fixed offset from the CFA in the header; 0 if rows contain it.
    pub(crate) fixed_ra: i8,
}

/// An encoded row: its parts are known, but its words are not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRow<'a> {
    pub(super) start: u32,
    info: u8,
    words: &'a [u8],
    /// The bytes from its words on, to the end of the section's rows.
    bytes: &'a [u8],
}

impl<'a> RawRow<'a> {
    /// Returns the row with this start and info byte, whose words are the first of `bytes`, and the bytes after it. `None` if a part of it is
    /// outside, or if its words have no valid width.
    #[inline(always)]
    pub(super) fn split(start: u32, info: u8, bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (words, rest) = bytes.split_at_checked(words_size(info)?)?;
        let row = Self {
            start,
            info,
            words,
            bytes,
        };
        Some((row, rest))
    }

    /// Returns the rules of a row of the common form, in a table of a little-endian machine: its words follow the rules of its ABI, and eight
    /// bytes contain all of them. `None` if the row has another form or is not valid.
    #[inline(always)]
    pub(super) fn common_rules(&self, section: &Section<'_>) -> Option<Rules> {
        if section.abi == Abi::S390x || self.words.len() > 8 {
            return None;
        }
        let mut words = Eight {
            bytes: u64::from_le_bytes(*self.bytes.first_chunk()?),
            left: self.info >> format::ROW_COUNT_SHIFT & format::ROW_COUNT,
            bits: 8 << (self.info >> format::ROW_WIDTH_SHIFT & format::ROW_WIDTH),
        };
        let Some(cfa) = words.next() else {
            return Some(Rules::NO_CALLER.with_signed(self.is_signed()));
        };
        let mut tracked = |fixed: i8| match fixed {
            0 => words.next().map_or(Packed::same(), Packed::saved_at_cfa),
            fixed => Packed::saved_at_cfa(fixed.into()),
        };
        let return_address = tracked(section.fixed_ra);
        let frame_pointer = tracked(section.fixed_fp);
        let cfa = Packed::above(self.info & format::ROW_CFA_SP != 0, cfa);
        let rules = Rules::of(cfa, return_address, frame_pointer);
        (words.left == 0).then_some(rules.with_signed(self.is_signed()))
    }

    /// The decoded row, which has these rules.
    #[inline(always)]
    pub(super) const fn row(&self, rules: Rules) -> Row {
        Row {
            offset: self.start,
            cfa: rules.cfa(),
            return_address: rules.return_address(),
            frame_pointer: rules.frame_pointer(),
            signed: rules.is_signed(),
            kept: crate::row::Kept::ALL,
        }
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

/// Words in eight bytes that were read at once. After the last there are bytes of other rows.
struct Eight {
    bytes: u64,
    /// How many words are left.
    left: u8,
    /// Bits of a word.
    bits: u32,
}

impl Eight {
    /// The next word, which has a sign.
    #[inline(always)]
    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        let unused = 64_u32.wrapping_sub(self.bits);
        let word = self.bytes.wrapping_shl(unused).cast_signed();
        self.bytes = self.bytes.wrapping_shr(self.bits);
        Some(word.wrapping_shr(unused))
    }
}

impl RowFormat {
    /// Decodes an encoded row, of a function of the `flexible` kind or not, into `rules`; `None` if its words are not valid for its
    /// ABI and kind.
    #[inline(always)]
    pub(crate) fn decode(&self, raw: RawRow<'_>, flexible: bool, rules: &mut Rules) -> Option<()> {
        if flexible || raw.words.is_empty() {
            self.flexible_rules(raw, rules)?;
        } else {
            self.default_rules(raw, rules)?;
        }
        *rules = rules.with_signed(raw.is_signed());
        Some(())
    }

    /// Specification, "SFrame Frame Row Entries": CFA, then the return address and the frame pointer unless fixed.
    #[inline(never)]
    fn default_rules(&self, raw: RawRow<'_>, rules: &mut Rules) -> Option<()> {
        let mut words = raw.words(self.order);
        let offset = self.cfa_offset(words.signed()?);
        let cfa = Packed::above(raw.info & format::ROW_CFA_SP != 0, offset);
        let return_address = self.word_or_fixed(self.fixed_ra, &mut words);
        let frame_pointer = self.word_or_fixed(self.fixed_fp, &mut words);
        *rules = Rules::of(cfa, return_address, frame_pointer);
        words.is_empty().then_some(())
    }

    /// The rule for the return address or the frame pointer, by its fixed offset, or else by the next word, if there is one.
    #[inline(never)]
    fn word_or_fixed(&self, fixed: i8, words: &mut Words<'_>) -> Packed {
        match fixed {
            0 => words
                .signed()
                .map_or(Packed::same(), |word| self.tracked(word)),
            fixed => Packed::saved_at_cfa(fixed.into()),
        }
    }

    /// Version 3, flexible functions: pairs of control word and offset for CFA, return address, frame pointer. Also rows
    /// without words, of any function: there is no caller.
    #[inline(never)]
    fn flexible_rules(&self, raw: RawRow<'_>, rules: &mut Rules) -> Option<()> {
        *rules = Rules::NO_CALLER;
        if raw.words.is_empty() {
            return Some(());
        }
        let mut cfa = Packed::new(Rule::Undefined);
        let mut return_address = match self.fixed_ra {
            0 => Packed::same(),
            fixed => Packed::saved_at_cfa(fixed.into()),
        };
        let mut frame_pointer = Packed::same();
        let mut words = raw.words(self.order);
        self.pair(&mut words, true, &mut cfa)?;
        self.pair(&mut words, false, &mut return_address)?;
        self.pair(&mut words, false, &mut frame_pointer)?;
        *rules = Rules::of(cfa, return_address, frame_pointer);
        let from_cfa = match rules.cfa() {
            Rule::Value { base, .. } | Rule::Saved { base, .. } => base == Base::Cfa,
            Rule::Same | Rule::Undefined => true,
        };
        (words.is_empty() && !from_cfa).then_some(())
    }

    /// Decodes a control word and its offset, if there are any, into `rule`. A control word 0 has no offset and does not change
    /// `rule`.
    #[inline(never)]
    fn pair(&self, words: &mut Words<'_>, is_cfa: bool, rule: &mut Packed) -> Option<()> {
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
        *rule = Packed::new(if control & format::CONTROL_DEREFERENCE != 0 {
            Rule::Saved { base, offset }
        } else {
            Rule::Value { base, offset }
        });
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
    fn tracked(&self, word: i32) -> Packed {
        match self.abi {
            Abi::S390x if word == 0 => Packed::same(),
            Abi::S390x if self.version == 2 && word & 1 != 0 => Packed::new(Rule::Value {
                base: self.abi.base(word.cast_unsigned() >> 1),
                offset: 0,
            }),
            _ => Packed::saved_at_cfa(i64::from(word)),
        }
    }
}

/// Returns the last of the first `count` rows whose start is at most `offset`. Returns an error if there is no such row, or if a row up to the next
/// one is partly outside, so that the right row is not known.
///
/// A start has `N` bytes, a head (start and info) has `H` bytes. Generic over the width, because a test of the width for every row took most of
/// the time. Rows differ in size, so they are read in sequence, except their words. Neighbours usually have words of the same shape; comparing
/// the shape lets the CPU predict where the next row is, instead of waiting for the load.
#[inline(always)]
pub(crate) fn last_at_most<const N: usize, const H: usize>(
    rows: &[u8],
    count: u32,
    order: ByteOrder,
    offset: u32,
) -> Result<RawRow<'_>, LookupError> {
    let damaged = LookupError::Damaged;
    let mut rest = rows;
    let mut found = None;
    let (mut known, mut size) = (0, H);
    for _ in 0..count {
        let head = rest.first_chunk::<H>().ok_or(damaged)?;
        let (start, info) = head.split_first_chunk::<N>().ok_or(damaged)?;
        let start = order.number(start);
        let info = *info.first().ok_or(damaged)?;
        if start > offset {
            // If it is a valid row, it ends the previous row.
            let size = H.wrapping_add(words_size(info).ok_or(damaged)?);
            rest.get(size..).ok_or(damaged)?;
            break;
        }
        if info & SHAPE != known {
            size = H.wrapping_add(words_size(info).ok_or(damaged)?);
            known = info & SHAPE;
        }
        found = Some((start, info, rest));
        rest = rest.get(size..).ok_or(damaged)?;
    }
    let (start, info, row) = found.ok_or(LookupError::NoRow)?;
    let bytes = row.get(H..).ok_or(damaged)?;
    let words = bytes.get(..size.wrapping_sub(H)).ok_or(damaged)?;
    Ok(RawRow {
        start,
        info,
        words,
        bytes,
    })
}

/// The bits of an info byte that determine the size of its row's words.
const SHAPE: u8 =
    format::ROW_COUNT << format::ROW_COUNT_SHIFT | format::ROW_WIDTH << format::ROW_WIDTH_SHIFT;

/// Bytes of a row's words, by its info byte; `None` for an invalid width.
#[inline(always)]
fn words_size(info: u8) -> Option<usize> {
    let count = (info >> format::ROW_COUNT_SHIFT) & format::ROW_COUNT;
    let width = (info >> format::ROW_WIDTH_SHIFT) & format::ROW_WIDTH;
    (width != format::ROW_WIDTH).then(|| usize::from(count) << width)
}
