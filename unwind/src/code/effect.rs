//! The effect of an instruction on a frame: on the stack pointer, the frame pointer, the link register, and where it saves them.

/// An address, or a word of memory at this address: an offset from the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether the register is the frame pointer; otherwise it is the stack pointer.
    pub by_frame_pointer: bool,
    /// The offset in bytes.
    pub offset: i64,
}

/// The change of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The register keeps its value.
    Kept,
    /// The register gets an unknown value.
    Lost,
    /// The register gets a constant, or the value of another register or of a word that no frame contains.
    Replaced,
    /// The register gets this address.
    Address(Place),
    /// The register gets the word at this address.
    Loaded(Place),
}

/// The control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next instruction follows.
    Next,
    /// The next instruction follows after a call, which may return.
    Call,
    /// The next instruction or the instruction at this address follows.
    Branch(u64),
    /// The instruction at this address follows.
    Jump(u64),
    /// An instruction follows whose address is in a register or a word of memory.
    Anywhere,
    /// Control flow leaves the function.
    End,
    /// Nothing follows: the instruction is undefined.
    Never,
}

/// The effect of one instruction. When it accesses memory, the stack pointer has moved by `before`, but not yet by `after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The length of the instruction in bytes.
    pub length: usize,
    /// The bytes that are added to the stack pointer before memory is accessed, by a push or an addition.
    pub before: i64,
    /// The bytes that are added to the stack pointer after memory is accessed, by a pop.
    pub after: i64,
    /// Any other change of the stack pointer.
    pub stack_pointer: Change,
    /// The change of the frame pointer.
    pub frame_pointer: Change,
    /// The change of the link register.
    pub link: Change,
    /// The place in which the frame pointer is saved.
    pub saves_frame_pointer: Option<Place>,
    /// The place in which the link register is saved.
    pub saves_link: Option<Place>,
    /// The control flow after the instruction.
    pub flow: Flow,
}

impl Place {
    /// Creates the place `offset` bytes above the stack pointer.
    #[must_use]
    pub const fn in_stack(offset: i64) -> Self {
        Self {
            by_frame_pointer: false,
            offset,
        }
    }

    /// Creates the place `offset` bytes above the frame pointer.
    #[must_use]
    pub const fn in_frame(offset: i64) -> Self {
        Self {
            by_frame_pointer: true,
            offset,
        }
    }
}

impl Effect {
    /// Creates the effect of an instruction of `length` bytes that changes nothing.
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
