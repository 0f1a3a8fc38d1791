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
}

impl Row {
    /// Whether the row says that its function has no caller.
    #[must_use]
    pub const fn is_outermost(&self) -> bool {
        matches!(self.return_address, Rule::Undefined)
    }
}
