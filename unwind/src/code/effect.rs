//! What an instruction does to a frame: to the stack pointer, the frame pointer, the link register, and where it saves them.

/// A place in memory or an address: so many bytes from the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From the frame pointer, otherwise from the stack pointer.
    pub by_frame_pointer: bool,
    /// Bytes.
    pub offset: i64,
}

/// What becomes of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It keeps its value.
    Kept,
    /// It has a value that is not followed.
    Lost,
    /// It gets this address.
    Address(Place),
    /// It gets the word there.
    Loaded(Place),
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction after a call that may return.
    Call,
    /// To the next instruction or to this address.
    Branch(u64),
    /// To this address.
    Jump(u64),
    /// To an address that a register or a word of memory has.
    Anywhere,
    /// Out of the function.
    End,
}

/// The effect of one instruction. Where it accesses memory, the stack pointer already has moved by `before`, and not yet by `after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The instruction's length in bytes.
    pub length: usize,
    /// Bytes that the stack pointer moves by before memory is accessed: a push, or an addition.
    pub before: i64,
    /// Bytes that it moves by after that: a pop.
    pub after: i64,
    /// What else becomes of the stack pointer.
    pub stack_pointer: Change,
    /// What becomes of the frame pointer.
    pub frame_pointer: Change,
    /// What becomes of the link register.
    pub link: Change,
    /// Where the frame pointer is stored.
    pub saves_frame_pointer: Option<Place>,
    /// Where the link register is stored.
    pub saves_link: Option<Place>,
    /// Where control goes.
    pub flow: Flow,
}

impl Place {
    /// So many bytes from the stack pointer.
    #[must_use]
    pub const fn in_stack(offset: i64) -> Self {
        Self {
            by_frame_pointer: false,
            offset,
        }
    }

    /// So many bytes from the frame pointer.
    #[must_use]
    pub const fn in_frame(offset: i64) -> Self {
        Self {
            by_frame_pointer: true,
            offset,
        }
    }
}

impl Effect {
    /// None, of an instruction with so many bytes.
    #[must_use]
    pub const fn none(length: usize) -> Self {
        Self {
            length,
            before: 0,
            after: 0,
            stack_pointer: Change::Kept,
            frame_pointer: Change::Kept,
            link: Change::Kept,
            saves_frame_pointer: None,
            saves_link: None,
            flow: Flow::Next,
        }
    }
}
