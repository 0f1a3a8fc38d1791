//! What is known of a value, and of an address.

/// Number of a register: DWARF's; from 32 on, registers that DWARF has no number below 32 for.
pub type Register = u8;

/// How many registers a [`Machine`](super::machine::Machine) has room for.
pub const REGISTERS: usize = 48;

/// An address on the stack that is not known as a number: the stack pointer at the function's entry, or what an
/// instruction made that aligns it or takes an unknown amount off it, by that instruction's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Base(pub u64);

impl Base {
    /// The stack pointer at the function's entry. No instruction lies there.
    pub const ENTRY: Self = Self(0);
}

/// A value that is only known to be the same wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What the register held at the function's entry.
    Entry(Register),
    /// What was there when the instruction at this address ran last.
    Named(u64),
}

/// What is known of a value of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Unknown,
    /// It is the same as elsewhere.
    Same(Origin),
    /// The lowest bits of such a value, so many, the others zero.
    Low(Origin, u8),
    /// What the register held at the function's entry, with a pointer authentication code.
    Signed(Register),
    /// An address on the stack: bytes from the base.
    Stack(Base, i64),
    /// A number.
    Constant(u64),
    /// Made from an entry of a jump table: the number of a [`Table`](super::table::Table).
    Table(u32),
}

impl Value {
    /// What the register held at the function's entry.
    #[must_use]
    pub const fn entry(register: Register) -> Self {
        Self::Same(Origin::Entry(register))
    }

    /// Whether the value counts from a base.
    pub(super) fn is_from(self, base: Base) -> bool {
        matches!(self, Self::Stack(of, _) if of == base)
    }

    /// Whether the value has a name.
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

    /// The lowest bits of the value, so many, the others zero.
    #[must_use]
    pub fn low(self, bits: u8) -> Self {
        match self {
            _ if bits >= 64 => self,
            Self::Constant(value) => Self::Constant(value & ((1 << bits) - 1)),
            Self::Same(origin) => Self::Low(origin, bits),
            Self::Low(origin, narrow) => Self::Low(origin, narrow.min(bits)),
            // A table's entries are offsets; the arithmetic on them wraps in the same way.
            _ => Self::Unknown,
        }
    }
}

/// Where memory is accessed, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// On the stack.
    Stack(Base, i64),
    /// Somewhere counted from a value.
    From(Origin, i64),
    /// A known place.
    At(u64),
    /// An entry of a table at a known place, with an index that is not known: the number of a
    /// [`Table`](super::table::Table).
    Table(u32),
    /// Anywhere.
    Unknown,
}

impl Address {
    /// A value as an address, so many bytes further.
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
