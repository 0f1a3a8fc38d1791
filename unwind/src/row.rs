//! A row: how to get from a function's registers to its caller's, from one instruction on. Independent of the table format.

/// The base that a rule's offset is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Base {
    /// The stack pointer (x86-64 `rsp`, AArch64 and ARM `sp`, s390x `r15`).
    StackPointer,
    /// The frame pointer (x86-64 `rbp`, AArch64 `x29`, s390x and ARM `r11`).
    FramePointer,
    /// Another register, by its DWARF number. Its value is known in the innermost or just interrupted frame only.
    Register(u32),
    /// The canonical frame address that the same row gives.
    Cfa,
}

/// How to find a register of the caller. Offsets are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Rule {
    /// The value is still in its register.
    Same,
    /// There is no value: the function has no caller.
    Undefined,
    /// The value is `base + offset`.
    Value {
        /// What `offset` counts from.
        base: Base,
        /// Bytes.
        offset: i64,
    },
    /// The value is the word at the address `base + offset`.
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
    /// The return address. [`Rule::Same`]: in the link register.
    pub return_address: Rule,
    /// The caller's frame pointer.
    pub frame_pointer: Rule,
    /// The return address carries a pointer authentication code (AArch64).
    pub signed: bool,
    /// The caller's `r4` to `r10` (32-bit ARM). On other architectures nothing is said of further registers.
    pub kept: Kept,
}

impl Row {
    /// Whether the row says that its function has no caller.
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        matches!(self.return_address, Rule::Undefined)
    }
}

/// Where the caller's `r4` to `r10` of ARM are, which a function leaves to its caller as they were: a byte for each. The caller's `r11` is
/// what a row calls the frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Kept([u8; Kept::COUNT]);

impl Kept {
    /// How many registers.
    pub const COUNT: usize = 7;
    /// The number of the first one.
    const FIRST: u32 = 4;
    /// Bytes of a word.
    const WORD: i64 = 4;
    /// A byte: the register has its value still.
    const SAME: u8 = 0;
    /// A byte: where the value is, is not known. Others are how many words the value lies below the canonical frame address.
    const LOST: u8 = u8::MAX;

    /// Each has its value still.
    pub const ALL: Self = Self([Self::SAME; Self::COUNT]);

    /// As a rule map has them: see its format.
    #[must_use]
    pub const fn of_bytes(bytes: [u8; Self::COUNT]) -> Self {
        Self(bytes)
    }

    /// As a rule map has them.
    #[must_use]
    pub const fn bytes(&self) -> [u8; Self::COUNT] {
        self.0
    }

    /// The rule for each register, by its DWARF number. [`Rule::Undefined`]: it is lost.
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

    /// Sets the rule for a register, by its DWARF number, 4 to 10; others are ignored. What no byte says makes it lost.
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
