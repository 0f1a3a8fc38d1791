//! The abstract domain: values and addresses, as far as they are known.

/// Number of a register: DWARF's below 32; from there on the interpreter's own, for system registers.
pub type Register = u8;

/// How many registers a [`Machine`](super::machine::Machine) has room for.
pub const REGISTERS: usize = 48;

/// A symbolic address on the stack: the stack pointer at the function's entry, or, named by its address, the result of an
/// instruction that aligns the stack pointer or subtracts an unknown amount from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base(pub u64);

impl Base {
    /// The stack pointer at the function's entry. No instruction lies there.
    pub const ENTRY: Self = Self(0);
}

/// A symbolic value: unknown, but equal wherever it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What the register held at the function's entry.
    Entry(Register),
    /// The result of the instruction at this address, when it ran last.
    Named(u64),
}

/// What is known of a value of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Unknown,
    /// A symbolic value.
    Same(Origin),
    /// The lowest bits of a symbolic value, as many as given; the others are zero.
    Low(Origin, u8),
    /// What the register held at the function's entry, with a pointer authentication code.
    Signed(Register),
    /// An address on the stack: bytes from the base.
    Stack(Base, i64),
    /// A number.
    Constant(u64),
    /// Computed from an entry of a jump table: the number of a [`Table`](super::table::Table).
    Table(u32),
}

impl Value {
    /// What the register held at the function's entry.
    #[must_use]
    pub const fn entry(register: Register) -> Self {
        Self::Same(Origin::Entry(register))
    }

    /// Whether the value is an address relative to a base.
    pub(super) fn is_from(self, base: Base) -> bool {
        matches!(self, Self::Stack(of, _) if of == base)
    }

    /// Whether the value is the result, or low bits of it, of the instruction at the address `name`.
    pub(super) fn is_named(self, name: u64) -> bool {
        let named = Origin::Named(name);
        matches!(self, Self::Same(of) | Self::Low(of, _) if of == named)
    }

    /// The sum of two values.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant(one), Self::Constant(other)) => Self::Constant(one.wrapping_add(other)),
            (Self::Stack(base, offset), Self::Constant(more))
            | (Self::Constant(more), Self::Stack(base, offset)) => {
                Self::Stack(base, offset.wrapping_add(more.cast_signed()))
            }
            (value, Self::Constant(0)) | (Self::Constant(0), value) => value,
            _ => Self::Unknown,
        }
    }

    /// The difference of two values.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        match (self, other) {
            (value, Self::Constant(less)) => value.plus(Self::Constant(less.wrapping_neg())),
            (Self::Stack(one, from), Self::Stack(other, to)) if one == other => {
                Self::Constant(from.wrapping_sub(to).cast_unsigned())
            }
            _ => Self::Unknown,
        }
    }

    /// The value truncated to `bits` bits, and zero-extended.
    #[must_use]
    pub fn low(self, bits: u8) -> Self {
        match self {
            _ if bits >= 64 => self,
            Self::Constant(value) => Self::Constant(value & ((1 << bits) - 1)),
            Self::Same(origin) => Self::Low(origin, bits),
            Self::Low(origin, narrow) => Self::Low(origin, narrow.min(bits)),
            _ => Self::Unknown,
        }
    }
}

/// Where memory is accessed, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// On the stack.
    Stack(Base, i64),
    /// Bytes from a symbolic value.
    From(Origin, i64),
    /// A known address.
    At(u64),
    /// An entry of a table at a known address, with an unknown index: the number of a
    /// [`Table`](super::table::Table).
    Table(u32),
    /// Anywhere.
    Unknown,
}

impl Address {
    /// The address `offset` bytes after a value.
    #[must_use]
    pub fn of(value: Value, offset: i64) -> Self {
        match value {
            Value::Stack(base, from) => Self::Stack(base, from.wrapping_add(offset)),
            Value::Same(origin) => Self::From(origin, offset),
            Value::Constant(address) => Self::At(address.wrapping_add_signed(offset)),
            _ => Self::Unknown,
        }
    }
}
