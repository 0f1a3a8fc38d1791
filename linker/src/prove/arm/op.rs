//! What an instruction does, as far as it matters to where a caller's registers are. Instructions of A32 and T32 differ in their bits, and
//! hardly in this.

use super::super::value::Register;

/// The stack pointer.
pub(super) const SP: Register = 13;
/// The link register.
pub(super) const LR: Register = 14;
/// The program counter.
pub(super) const PC: Register = 15;

/// The condition under which an instruction is always executed.
pub(super) const ALWAYS: u8 = 14;

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) op: Op,
    /// Bytes.
    pub(super) length: u8,
    /// The number of the condition under which it is executed.
    pub(super) condition: u8,
}

/// A second source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Constant(u32),
    /// A register, shifted left by so many bits.
    Register(Register, u8),
    /// Something else.
    Other,
}

/// What happens to the base register of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indexing {
    /// Nothing.
    Offset,
    /// The offset is added to it, after the access.
    Post,
    /// The offset is added to it, before the access.
    Pre,
}

/// Where an access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) base: Register,
    /// In bytes; a register's is added, unless it is [`Source::Other`].
    pub(super) offset: Source,
    pub(super) indexing: Indexing,
}

/// What an instruction does. Masks have a bit for each register, bit 0 for `r0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Nothing that matters.
    Nothing,
    /// Changes the flags.
    Flags,
    /// Sets the flags by the difference of two values.
    Compare(Register, Source),
    /// Adds, or subtracts.
    Add {
        to: Register,
        left: Register,
        right: Source,
        subtracts: bool,
        flags: bool,
    },
    /// The bits that both have, or those that the second one has not.
    And {
        to: Register,
        left: Register,
        right: Source,
        clears: bool,
        flags: bool,
    },
    /// Copies, or all bits inverted.
    Move {
        to: Register,
        from: Source,
        inverts: bool,
        flags: bool,
    },
    /// Sets the upper half.
    Top {
        to: Register,
        half: u16,
    },
    /// The lowest bits, with zeros above.
    Low {
        to: Register,
        from: Register,
        bits: u8,
    },
    /// Sets registers to something else.
    Unknown {
        to: u16,
        flags: bool,
    },
    /// Loads so many bytes, with zeros or with their sign above.
    Load {
        to: Register,
        size: u8,
        signed: bool,
        place: Place,
    },
    /// Stores so many bytes.
    Store {
        from: Register,
        size: u8,
        place: Place,
    },
    /// Loads or stores two registers.
    Pair {
        loads: bool,
        registers: [Register; 2],
        place: Place,
    },
    /// Stores so many bytes of something else, and says in a register whether it has.
    StoreExclusive {
        status: Register,
        size: u8,
        place: Place,
    },
    /// Accesses so many bytes of other registers; what is stored is not known.
    Other {
        loads: bool,
        size: u8,
        place: Place,
    },
    /// Loads or stores registers, the lowest one at so many bytes from the base, which is moved then.
    Multiple {
        loads: bool,
        base: Register,
        registers: u16,
        start: i32,
        moves: Option<i32>,
        /// They are those of user mode: of `sp` and `lr` not the ones that are in use.
        user: bool,
    },
    Jump(u32),
    Call(u32),
    JumpTo(Register),
    CallTo(Register),
    /// Jumps by an entry of a table behind the instruction, of one byte or two.
    Table {
        base: Register,
        index: Register,
        size: u8,
    },
    /// Jumps if a register is zero, or is not.
    JumpIf(u32),
    /// Begins a block of conditional instructions, with this state.
    If(u8),
    /// Returns from an exception.
    InterruptReturn,
    /// Changes the mode, and so perhaps `sp` and `lr`.
    Mode,
    /// Calls a supervisor.
    Supervisor,
    /// An instruction that compilers put where control cannot come.
    Trap,
}
