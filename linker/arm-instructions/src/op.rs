//! What an instruction does, as far as it matters to where a caller's registers are. Instructions of A32 and T32 differ in their bits, and
//! hardly in their effects.

/// The number of a register, 0 to 15.
pub type Register = u8;

/// The stack pointer.
pub const SP: Register = 13;
/// The link register.
pub const LR: Register = 14;
/// The program counter.
pub const PC: Register = 15;

/// The condition under which an instruction is always executed.
pub const ALWAYS: u8 = 14;

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// What it does if its condition holds.
    pub op: Op,
    /// Length in bytes.
    pub length: u8,
    /// The number of the condition under which it is executed.
    pub condition: u8,
}

/// A second source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A number.
    Constant(u32),
    /// A register, shifted left by a number of bits.
    Register(Register, u8),
    /// Something else.
    Other,
}

/// What happens to the base register of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// Nothing.
    Offset,
    /// The offset is added to it, after the access.
    Post,
    /// The offset is added to it, before the access.
    Pre,
}

/// The address of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The base register.
    pub base: Register,
    /// In bytes. A register's value is added, unless the source is [`Source::Other`].
    pub offset: Source,
    /// When the offset is added to the base register, if at all.
    pub indexing: Indexing,
}

/// What an instruction does. Masks have a bit for each register, bit 0 for `r0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Nothing that matters.
    Nothing,
    /// Calls a debugger or a handler, which continues after the instruction.
    Breakpoint,
    /// Changes the flags.
    Flags,
    /// Sets the flags by the difference of two values.
    Compare(Register, Source),
    /// Adds, or subtracts.
    Add {
        /// The register that is set.
        to: Register,
        /// The first source.
        left: Register,
        /// The second source.
        right: Source,
        /// The second source is subtracted.
        subtracts: bool,
        /// Sets the flags.
        flags: bool,
    },
    /// The bits that are set in both sources, or those of the first source that are not set in the second.
    And {
        /// The register that is set.
        to: Register,
        /// The first source.
        left: Register,
        /// The second source.
        right: Source,
        /// Clears the bits of the second source.
        clears: bool,
        /// Sets the flags.
        flags: bool,
    },
    /// Copies, or copies with all bits inverted.
    Move {
        /// The register that is set.
        to: Register,
        /// The source.
        from: Source,
        /// Inverts all bits.
        inverts: bool,
        /// Sets the flags.
        flags: bool,
    },
    /// Sets the upper half.
    Top {
        /// The register whose upper half is set.
        to: Register,
        /// The upper half.
        half: u16,
    },
    /// The lowest bits, with zeros above.
    Low {
        /// The register that is set.
        to: Register,
        /// The source.
        from: Register,
        /// The number of bits that are copied.
        bits: u8,
    },
    /// Sets registers to something else.
    Unknown {
        /// The mask of registers that are set.
        to: u16,
        /// Sets the flags.
        flags: bool,
    },
    /// Loads one register, with zeros or with the value's sign above.
    Load {
        /// The register that is set.
        to: Register,
        /// Size in memory, in bytes.
        size: u8,
        /// Extends the sign.
        signed: bool,
        /// The address.
        place: Place,
    },
    /// Stores one register.
    Store {
        /// The register that is stored.
        from: Register,
        /// Size in memory, in bytes.
        size: u8,
        /// The address.
        place: Place,
    },
    /// Loads or stores two registers.
    Pair {
        /// Loads, or else stores.
        loads: bool,
        /// The registers, the one at the lower address first.
        registers: [Register; 2],
        /// The address.
        place: Place,
    },
    /// Stores something else if nothing else has accessed the memory since an exclusive load, and sets a register to whether it has stored.
    StoreExclusive {
        /// The register for the outcome.
        status: Register,
        /// Size in memory, in bytes.
        size: u8,
        /// The address.
        place: Place,
    },
    /// Loads or stores other registers; the stored value is not known.
    Other {
        /// Loads, or else stores.
        loads: bool,
        /// Size in memory, in bytes.
        size: u8,
        /// The address.
        place: Place,
    },
    /// Loads or stores a list of registers.
    Multiple {
        /// Loads, or else stores.
        loads: bool,
        /// The base register.
        base: Register,
        /// The mask of registers.
        registers: u16,
        /// Distance from the base to the lowest register in memory, in bytes.
        start: i32,
        /// Added to the base register, in bytes.
        moves: Option<i32>,
        /// The registers are those of user mode: for `sp` and `lr`, not the ones in use.
        user: bool,
    },
    /// Jumps to an address.
    Jump(u32),
    /// Calls an address.
    Call(u32),
    /// Jumps to an address in a register.
    JumpTo(Register),
    /// Calls an address in a register.
    CallTo(Register),
    /// Jumps by an entry of a table: from the address after the instruction, twice the entry's value.
    Table {
        /// The table's address.
        base: Register,
        /// The entry's number.
        index: Register,
        /// Size of an entry, in bytes: one or two.
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

impl Op {
    /// Whether control may go elsewhere than to the next instruction.
    #[must_use]
    pub const fn may_jump(&self) -> bool {
        match self {
            Self::Add { to, .. } | Self::Load { to, .. } => *to == PC,
            Self::Multiple {
                loads, registers, ..
            } => *loads && *registers >> PC != 0,
            Self::Jump(_)
            | Self::Call(_)
            | Self::JumpTo(_)
            | Self::CallTo(_)
            | Self::Table { .. }
            | Self::JumpIf(_)
            | Self::InterruptReturn
            | Self::Trap => true,
            _ => false,
        }
    }
}
