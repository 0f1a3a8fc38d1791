//! A row: how to get from a function's registers to its caller's, from one instruction on.

use crate::bytes::Bytes;
use crate::sframe::abi::Abi;
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
pub(crate) struct RawRow {
    pub(crate) start: u32,
    pub(crate) info: u8,
    /// Offset of the first word.
    words: usize,
    /// Offset of the next row.
    pub(crate) next: usize,
}

impl RowFormat {
    /// Measures the row at `at`. `None` when it does not lie wholly in `rows` or has words of no width.
    #[inline]
    pub(crate) fn raw(&self, rows: Bytes<'_>, at: usize) -> Option<RawRow> {
        let start = rows.unsigned(at, self.start_width)?;
        let info_at = at.checked_add(1_usize.checked_shl(u32::from(self.start_width))?)?;
        let info = rows.u8(info_at)?;
        let width = (info >> format::ROW_WIDTH_SHIFT) & format::ROW_WIDTH;
        if width == format::ROW_WIDTH {
            return None;
        }
        let words = info_at.checked_add(1)?;
        let next = words.checked_add(usize::from(count(info)) << width)?;
        (next <= rows.data.len()).then_some(RawRow {
            start,
            info,
            words,
            next,
        })
    }

    /// Understands a row; `None` when its words do not fit the rules of its ABI and kind.
    pub(crate) fn decode(&self, rows: Bytes<'_>, raw: RawRow) -> Option<Row> {
        let words = Words {
            rows,
            at: raw.words,
            width: (raw.info >> format::ROW_WIDTH_SHIFT) & format::ROW_WIDTH,
            left: count(raw.info),
        };
        let signed = raw.info & format::ROW_RETURN_ADDRESS_SIGNED != 0;
        let (cfa, return_address, frame_pointer) = if words.left == 0 {
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
            None if words.left == 0 => Rule::Same,
            None => self.tracked(words.signed()?),
        };
        let frame_pointer = match self.fixed_fp {
            0 if words.left == 0 => Rule::Same,
            0 => self.tracked(words.signed()?),
            fixed => saved_at_cfa(i64::from(fixed)),
        };
        (words.left == 0).then_some((cfa, return_address, frame_pointer))
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
        let return_address = if words.left == 0 {
            default
        } else {
            self.pair(&mut words, false)?.unwrap_or(default)
        };
        let frame_pointer = if words.left == 0 {
            Rule::Same
        } else {
            self.pair(&mut words, false)?.unwrap_or(Rule::Same)
        };
        (words.left == 0).then_some((cfa, return_address, frame_pointer))
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

const fn count(info: u8) -> u8 {
    (info >> format::ROW_COUNT_SHIFT) & format::ROW_COUNT
}

const fn saved_at_cfa(offset: i64) -> Rule {
    Rule::Saved {
        base: Base::Cfa,
        offset,
    }
}

/// The words of one row, taken one by one.
struct Words<'a> {
    rows: Bytes<'a>,
    at: usize,
    width: u8,
    left: u8,
}

impl Words<'_> {
    /// Offset of the next word.
    fn take(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.at;
        self.at = at.checked_add(1_usize.checked_shl(u32::from(self.width))?)?;
        Some(at)
    }

    fn signed(&mut self) -> Option<i32> {
        let at = self.take()?;
        self.rows.signed(at, self.width)
    }

    fn unsigned(&mut self) -> Option<u32> {
        let at = self.take()?;
        self.rows.unsigned(at, self.width)
    }
}
