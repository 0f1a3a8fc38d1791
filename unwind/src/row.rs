//! A row: the rules that lead from a function's registers to its caller's, from one instruction on. Independent of the table format.

/// The base to which a rule's offset is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Base {
    /// The stack pointer (x86-64 `rsp`, AArch64 and ARM `sp`, s390x `r15`).
    StackPointer,
    /// The frame pointer (x86-64 `rbp`, AArch64 `x29`, s390x and ARM `r11`).
    FramePointer,
    /// Another register, by its DWARF number. Its value is usually known in the first and in interrupted frames only.
    Register(u32),
    /// The canonical frame address (CFA) of the same row.
    Cfa,
}

/// A rule of a row: how to find the value of a caller's register.
///
/// ```
/// use unwind::{Base, Rule};
///
/// // On x86-64, the return address is the word 8 bytes below the canonical frame address.
/// let return_address = Rule::Saved { base: Base::Cfa, offset: -8 };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rule {
    /// The value is still in its register.
    Same,
    /// The value does not exist. For the return address: the function has no caller.
    Undefined,
    /// The value is `base + offset`.
    Value {
        /// The base of the offset.
        base: Base,
        /// The offset in bytes.
        offset: i64,
    },
    /// The value is the word at the address `base + offset`.
    Saved {
        /// The base of the offset.
        base: Base,
        /// The offset in bytes.
        offset: i64,
    },
}

/// An unwind row (in SFrame: frame row entry, FRE): the rules for a function's instructions from [`Self::offset`] to the next row.
///
/// ```
/// # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/example.rs")); }
/// # use example::*;
/// use unwind::{Base, Rule, sframe::Tables};
///
/// // After `push rbp`, the canonical frame address is rsp + 16, and the caller's rbp is saved 16 bytes below it.
/// let (_, row) = Tables::new(&TABLE, 0x2000).lookup(0x1018)?;
/// assert_eq!(row.offset, 1);
/// assert_eq!(row.cfa, Rule::Value { base: Base::StackPointer, offset: 16 });
/// assert_eq!(row.frame_pointer, Rule::Saved { base: Base::Cfa, offset: -16 });
/// # Ok::<(), unwind::LookupError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Row {
    /// The offset of the first instruction for which the row is valid, in bytes from the start of the function, or of the repeated block.
    pub offset: u32,
    /// The rule for the canonical frame address: the caller's stack pointer immediately before the call, plus 160 on s390x.
    /// [`Rule::Undefined`] if there is no caller; never [`Rule::Same`].
    pub cfa: Rule,
    /// The rule for the return address. [`Rule::Same`] means that it is in the link register.
    pub return_address: Rule,
    /// The rule for the caller's frame pointer.
    pub frame_pointer: Rule,
    /// Whether the return address contains a pointer authentication code (AArch64).
    pub signed: bool,
    /// The rules for the caller's `r4` to `r10` (32-bit ARM). Rows for other architectures contain no further registers.
    pub kept: Kept,
}

impl Row {
    /// Checks whether the function has no caller, by this row.
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        matches!(self.return_address, Rule::Undefined)
    }
}

/// The rules for the caller's `r4` to `r10` on 32-bit ARM, which calls preserve: one byte for each. The caller's `r11` is the frame pointer
/// of a row.
///
/// ```
/// use unwind::{Base, Kept, Rule};
///
/// let mut kept = Kept::ALL;
/// kept.set(4, Rule::Saved { base: Base::Cfa, offset: -8 });
/// // r4 is 2 words below the canonical frame address; the others are unchanged.
/// assert_eq!(kept.bytes(), [2, 0, 0, 0, 0, 0, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Kept([u8; Kept::COUNT]);

impl Kept {
    /// The number of registers.
    pub const COUNT: usize = 7;
    /// The DWARF number of the first register.
    const FIRST: u32 = 4;
    /// The size of a word in bytes.
    const WORD: i64 = 4;
    /// The byte of a register that still has the caller's value.
    const SAME: u8 = 0;
    /// The byte of a register whose caller's value is lost. Other bytes are the distance of the value below the CFA, in words.
    const LOST: u8 = u8::MAX;

    /// The rules if each register still has the caller's value.
    pub const ALL: Self = Self([Self::SAME; Self::COUNT]);

    /// Creates the rules from the bytes in a rule map: see "Kept registers" in its [format](crate::map::format).
    #[must_use]
    pub const fn of_bytes(bytes: [u8; Self::COUNT]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes for a rule map.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::COUNT] {
        self.0
    }

    /// Returns the DWARF number of each register and its rule. [`Rule::Undefined`] means that the caller's value is lost.
    #[must_use]
    pub fn rules(&self) -> [(u32, Rule); Self::COUNT] {
        let mut number = Self::FIRST;
        self.0.map(|byte| {
            let register = number;
            number = number.wrapping_add(1);
            let rule = match byte {
                Self::SAME => Rule::Same,
                Self::LOST => Rule::Undefined,
                words => Rule::Saved {
                    base: Base::Cfa,
                    offset: i64::from(words).wrapping_mul(Self::WORD).wrapping_neg(),
                },
            };
            (register, rule)
        })
    }

    /// Sets the rule for a register, by its DWARF number, 4 to 10. Ignores other numbers. A rule that a byte cannot express makes the value
    /// lost.
    pub fn set(&mut self, register: u32, rule: Rule) {
        let place = register.wrapping_sub(Self::FIRST) as usize;
        let Some(byte) = self.0.get_mut(place) else {
            return;
        };
        let words = |offset: i64| {
            let words = u8::try_from(offset.wrapping_neg().checked_div(Self::WORD)?).ok()?;
            let fits = i64::from(words).wrapping_mul(Self::WORD) == offset.wrapping_neg();
            (fits && !matches!(words, Self::SAME | Self::LOST)).then_some(words)
        };
        *byte = match rule {
            Rule::Same => Self::SAME,
            Rule::Saved {
                base: Base::Cfa,
                offset,
            } => words(offset).unwrap_or(Self::LOST),
            _ => Self::LOST,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_says_a_rule_and_is_what_the_rule_sets() {
        for byte in 0..=u8::MAX {
            let kept = Kept::of_bytes([byte; Kept::COUNT]);
            let mut again = Kept::ALL;
            let mut expected = 4;
            for (register, rule) in kept.rules() {
                assert_eq!(register, expected);
                expected += 1;
                again.set(register, rule);
            }
            assert_eq!((again, expected), (kept, 11));
        }
    }

    #[test]
    fn what_no_byte_says_is_lost() {
        let lost = |rule| {
            let mut kept = Kept::ALL;
            kept.set(4, rule);
            kept.rules()[0] == (4, Rule::Undefined)
        };
        for offset in [0, 4, -3, -255 * 4, -1024, i64::MIN, i64::MAX] {
            let base = Base::Cfa;
            assert!(lost(Rule::Saved { base, offset }), "{offset}");
        }
        let base = Base::StackPointer;
        assert!(lost(Rule::Saved { base, offset: -4 }));
        assert!(lost(Rule::Value {
            base: Base::Cfa,
            offset: -4
        }));
        let mut kept = Kept::ALL;
        for register in [0, 3, 11, 15, u32::MAX] {
            kept.set(register, Rule::Undefined);
        }
        assert_eq!(kept, Kept::ALL);
    }
}
