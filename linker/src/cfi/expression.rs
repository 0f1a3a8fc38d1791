//! Recognises DWARF expressions that an SFrame row can express.

use gimli::{Encoding, Expression, Operation, Register};

use super::Slice;

/// An expression, recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// A register's value and an offset in bytes.
    Sum(Register, i64),
    /// The word at the address [`Pattern::Sum`].
    Load(Register, i64),
    /// The CFA and an offset in bytes. Only in the rule of a register, whose expression starts with the CFA.
    FromCfa(i64),
    /// The CFA that linkers emit for x86-64 PLT entries of 16 bytes: `rsp + 8`, and 8 more from this byte of an entry on.
    Plt(u8),
    /// Anything else, with so many operations.
    Other(usize),
}

/// DWARF numbers on x86-64, the only architecture with the PLT pattern.
const RSP: Register = Register(7);
const RIP: Register = Register(16);

/// Recognises an expression.
pub(super) fn recognise(expression: Expression<Slice<'_>>, encoding: Encoding) -> Pattern {
    let word = encoding.address_size;
    let mut operations = Vec::new();
    let mut iterator = expression.operations(encoding);
    while let Ok(Some(operation)) = iterator.next() {
        operations.push(operation);
    }
    match *operations {
        [
            Operation::RegisterOffset {
                register, offset, ..
            },
        ] => Pattern::Sum(register, offset),
        [
            Operation::RegisterOffset {
                register, offset, ..
            },
            Operation::Deref {
                size, space: false, ..
            },
        ] if size == word => Pattern::Load(register, offset),
        [Operation::PlusConstant { value }] => Pattern::FromCfa(value.cast_signed()),
        [
            Operation::RegisterOffset {
                register: RSP,
                offset: 8,
                ..
            },
            Operation::RegisterOffset {
                register: RIP,
                offset: 0,
                ..
            },
            Operation::UnsignedConstant { value: 15 },
            Operation::And,
            Operation::UnsignedConstant {
                value: from @ 1..16,
            },
            Operation::Ge,
            Operation::UnsignedConstant { value: 3 },
            Operation::Shl,
            Operation::Plus,
        ] => Pattern::Plt(from as u8),
        _ => Pattern::Other(operations.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::{EndianSlice, Format, RunTimeEndian};

    fn pattern(bytes: &[u8]) -> Pattern {
        let encoding = Encoding {
            address_size: 8,
            format: Format::Dwarf32,
            version: 1,
        };
        recognise(
            Expression(EndianSlice::new(bytes, RunTimeEndian::Little)),
            encoding,
        )
    }

    #[test]
    fn expressions_of_compilers_and_linkers() {
        // DW_OP_breg6 -8; DW_OP_deref: the CFA of a function with a realigned stack.
        assert_eq!(pattern(&[0x76, 0x78, 0x06]), Pattern::Load(Register(6), -8));
        assert_eq!(pattern(&[0x76, 0x00]), Pattern::Sum(Register(6), 0));
        assert_eq!(pattern(&[0x23, 0x10]), Pattern::FromCfa(16));
        // A lazy PLT entry: the second instruction, at byte 11, pushes.
        let plt = [
            0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22,
        ];
        assert_eq!(pattern(&plt), Pattern::Plt(11));
        assert_eq!(pattern(&plt[..10]), Pattern::Other(8));
        assert_eq!(pattern(&[]), Pattern::Other(0));
    }
}
