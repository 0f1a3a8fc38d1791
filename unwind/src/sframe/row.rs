//! A row: how to get from a function's registers to its caller's, from one instruction on.

use crate::bytes::ByteOrder;
use crate::sframe::abi::Abi;
use crate::sframe::error::LookupError;
use crate::sframe::format;

/// What a rule counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Base {
    /// The stack pointer (x86-64 `rsp`, AArch64 `sp`, s390x `r15`).
    StackPointer,
    /// The frame pointer (x86-64 `rbp`, AArch64 `x29`, s390x `r11`).
    FramePointer,
    /// Another register, by its DWARF number. Its value is known in the innermost or just interrupted frame only.
    Register(u32),
    /// The canonical frame address that the same row gives.
    Cfa,
}

/// Where a value of the caller is to be found. Offsets are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rule {
    /// Still in its register.
    Same,
    /// There is none: the function has no caller.
    Undefined,
    /// The value is `base + offset`.
    Value {
        /// What `offset` counts from.
        base: Base,
        /// Bytes.
        offset: i64,
    },
    /// The value is the 8-byte word at the address `base + offset`.
    Saved {
        /// What `offset` counts from.
        base: Base,
        /// Bytes.
        offset: i64,
    },
}

/// A frame row entry (FRE): the rules from `offset` on, up to the next row of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Row {
    /// First instruction the row holds for: bytes from the start of the function, or of the repeated block.
    pub offset: u32,
    /// The canonical frame address: the caller's stack pointer right before the call (plus 160 on s390x).
    /// [`Rule::Undefined`] when there is no caller; never [`Rule::Same`].
    pub cfa: Rule,
    /// The return address. [`Rule::Same`]: in the link register, or where a call leaves it.
    pub return_address: Rule,
    /// The caller's frame pointer.
    pub frame_pointer: Rule,
    /// The return address carries a pointer authentication code (AArch64).
    pub signed: bool,
}

impl Row {
    /// Whether the row says that its function has no caller.
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        matches!(self.return_address, Rule::Undefined)
    }
}

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

/// A row as it lies in the table: found, measured, not yet understood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRow<'a> {
    start: u32,
    info: u8,
    words: &'a [u8],
}

impl RowFormat {
    /// The first row of `rows`, and the rows behind it. `None` when it does not lie wholly inside or has words of no
    /// width.
    #[inline(always)]
    pub(crate) fn first<'a>(&self, rows: &'a [u8]) -> Option<(RawRow<'a>, &'a [u8])> {
        match self.start_width {
            0 => first::<1>(rows, self.order),
            1 => first::<2>(rows, self.order),
            2 => first::<4>(rows, self.order),
            _ => None,
        }
    }

    /// The last of the first `count` of `rows` that starts at or before `offset`.
    #[inline(always)]
    pub(crate) fn find<'a>(
        &self,
        rows: &'a [u8],
        count: u32,
        offset: u32,
    ) -> Result<RawRow<'a>, LookupError> {
        let found = match self.start_width {
            0 => last::<1, 2>(rows, count, offset, self.order),
            1 => last::<2, 3>(rows, count, offset, self.order),
            2 => last::<4, 5>(rows, count, offset, self.order),
            _ => None,
        };
        // A row that cannot be measured may or may not have been the one.
        let found = found.ok_or(LookupError::Damaged)?;
        let (raw, _) = self.first(found).ok_or(LookupError::NoRow)?;
        Ok(raw)
    }

    /// Understands a row; `None` when its words do not fit the rules of its ABI and kind.
    #[inline(always)]
    pub(crate) fn decode(&self, raw: RawRow<'_>) -> Option<Row> {
        let words = Words {
            rest: raw.words,
            order: self.order,
            width: (raw.info >> format::ROW_WIDTH_SHIFT) & format::ROW_WIDTH,
        };
        let signed = raw.info & format::ROW_RETURN_ADDRESS_SIGNED != 0;
        let (cfa, return_address, frame_pointer) = if words.is_empty() {
            (Rule::Undefined, Rule::Undefined, Rule::Undefined)
        } else if self.flexible {
            self.flexible_rules(words)?
        } else {
            self.default_rules(words, raw.info)?
        };
        Some(Row {
            offset: raw.start,
            cfa,
            return_address,
            frame_pointer,
            signed,
        })
    }

    /// Specification, "SFrame Frame Row Entries": CFA, then the return address and the frame pointer unless fixed.
    #[inline(always)]
    fn default_rules(&self, mut words: Words<'_>, info: u8) -> Option<(Rule, Rule, Rule)> {
        let base = if info & format::ROW_CFA_SP != 0 {
            Base::StackPointer
        } else {
            Base::FramePointer
        };
        let offset = self.cfa_offset(words.signed()?);
        let cfa = Rule::Value { base, offset };
        let return_address = match self.fixed_return_address() {
            Some(rule) => rule,
            None if words.is_empty() => Rule::Same,
            None => self.tracked(words.signed()?),
        };
        let frame_pointer = match self.fixed_fp {
            0 if words.is_empty() => Rule::Same,
            0 => self.tracked(words.signed()?),
            fixed => saved_at_cfa(i64::from(fixed)),
        };
        (words.is_empty()).then_some((cfa, return_address, frame_pointer))
    }

    /// Version 3, flexible functions: pairs of control word and offset for CFA, return address, frame pointer;
    /// a control word 0 for the return address stands alone and means the default rule.
    fn flexible_rules(&self, mut words: Words<'_>) -> Option<(Rule, Rule, Rule)> {
        let cfa = match self.pair(&mut words, true)? {
            Some(rule @ (Rule::Value { base, .. } | Rule::Saved { base, .. }))
                if base != Base::Cfa =>
            {
                rule
            }
            _ => return None,
        };
        let default = self.fixed_return_address().unwrap_or(Rule::Same);
        let return_address = if words.is_empty() {
            default
        } else {
            self.pair(&mut words, false)?.unwrap_or(default)
        };
        let frame_pointer = if words.is_empty() {
            Rule::Same
        } else {
            self.pair(&mut words, false)?.unwrap_or(Rule::Same)
        };
        (words.is_empty()).then_some((cfa, return_address, frame_pointer))
    }

    /// One control word and its offset; `Some(None)` for the padding word.
    fn pair(&self, words: &mut Words<'_>, is_cfa: bool) -> Option<Option<Rule>> {
        let control = words.unsigned()?;
        if control == 0 {
            return Some(None);
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
        Some(Some(if control & format::CONTROL_DEREFERENCE != 0 {
            Rule::Saved { base, offset }
        } else {
            Rule::Value { base, offset }
        }))
    }

    fn fixed_return_address(&self) -> Option<Rule> {
        (self.fixed_ra != 0).then(|| saved_at_cfa(i64::from(self.fixed_ra)))
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

/// Bytes of a row's words, by its info; `None` for words of no width.
#[inline(always)]
fn words_size(info: u8) -> Option<usize> {
    let count = (info >> format::ROW_COUNT_SHIFT) & format::ROW_COUNT;
    let width = (info >> format::ROW_WIDTH_SHIFT) & format::ROW_WIDTH;
    (width != format::ROW_WIDTH).then(|| usize::from(count) << width)
}

#[inline(always)]
fn first<const N: usize>(rows: &[u8], order: ByteOrder) -> Option<(RawRow<'_>, &[u8])> {
    let (start, rest) = rows.split_first_chunk::<N>()?;
    let (&info, rest) = rest.split_first()?;
    let (words, rest) = rest.split_at_checked(words_size(info)?)?;
    let start = order.number(*start);
    Some((RawRow { start, info, words }, rest))
}

/// The bytes of the last of the first `count` rows that starts at or before `offset`: none when there is no such row;
/// `None` when one on the way is damaged. `N` are the bytes of a start, `HEAD` those of a start and an info.
///
/// Rows differ in size, so they are read one after another, their words excepted. Neighbours mostly have equal info
/// bytes: only asking whether they have lets the processor guess where the next row is, instead of waiting for it.
#[inline(always)]
fn last<const N: usize, const HEAD: usize>(
    rows: &[u8],
    count: u32,
    offset: u32,
    order: ByteOrder,
) -> Option<&[u8]> {
    let mut rest = rows;
    let mut known = 0;
    let mut size = 0;
    for _ in 0..count {
        let (head, tail) = rest.split_first_chunk::<HEAD>()?;
        let info = *head.last()?;
        if order.number::<N>(*head.first_chunk()?) > offset {
            tail.get(words_size(info)?..)?;
            break;
        }
        if info != known {
            size = words_size(info)?;
            known = info;
        }
        rest = tail.get(size..)?;
    }
    // What was passed ends in the row, whose words have the size asked for last.
    let passed = rows.len().wrapping_sub(rest.len());
    let row = passed
        .checked_sub(HEAD.wrapping_add(size))
        .unwrap_or(passed);
    rows.get(row..passed)
}

const fn saved_at_cfa(offset: i64) -> Rule {
    Rule::Saved {
        base: Base::Cfa,
        offset,
    }
}

/// The words of one row, taken one by one.
struct Words<'a> {
    rest: &'a [u8],
    order: ByteOrder,
    /// Width code: 0, 1, 2 are 1, 2, 4 bytes.
    width: u8,
}

impl Words<'_> {
    const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline(always)]
    fn take<const N: usize>(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(self.order.number::<N>(*word))
    }

    #[inline(always)]
    fn unsigned(&mut self) -> Option<u32> {
        match self.width {
            0 => self.take::<1>(),
            1 => self.take::<2>(),
            _ => self.take::<4>(),
        }
    }

    #[inline(always)]
    fn signed(&mut self) -> Option<i32> {
        let word = self.unsigned()?.cast_signed();
        // Moves the word's sign to the number's.
        let unused = match self.width {
            0 => 24,
            1 => 16,
            _ => 0,
        };
        Some(word.wrapping_shl(unused).wrapping_shr(unused))
    }
}
