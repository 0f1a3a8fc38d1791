//! The words of a row: their sizes, and what they mean on each machine.

use unwind::sframe::{Base, LookupError, Row, Rule, Section, format};

use crate::hand::{
    ABI, ADDRESS, FIXED_FRAME_POINTER, FIXED_RETURN_ADDRESS, PUSHED, V1, V2, V3, at_cfa, row,
    row_at, with,
};

/// Words of 2 bytes have a sign, too.
#[test]
fn words_of_two_bytes() {
    for section in [&V1[..], &V2, &V3] {
        let mut bytes = section[..section.len() - 3].to_vec();
        bytes.extend([5 | 1 << 5, 16, 0, 0xf0, 0xff]);
        bytes[16] += 2;
        assert_eq!(row_at(&bytes, 0x1011), Ok(PUSHED));
    }
}

/// Three words of 4 bytes do not fit in eight.
#[test]
fn words_of_four_bytes() {
    for section in [&V2[..], &V3] {
        let mut bytes = with(section, ABI, 2);
        bytes[FIXED_RETURN_ADDRESS] = 0;
        bytes.truncate(bytes.len() - 3);
        bytes.push(7 | 2 << 5);
        for word in [0x1_0010_i32, -8, -16] {
            bytes.extend(word.to_le_bytes());
        }
        bytes[16] += 10;
        let expected = Row {
            frame_pointer: at_cfa(-16),
            ..row(1, 0x1_0010)
        };
        assert_eq!(row_at(&bytes, 0x1011), Ok(expected));
    }
}

/// The specification fixes it for AMD64: it is 8 bytes below the CFA, where the instruction `call` puts it.
#[test]
fn the_fixed_return_address_of_amd64() {
    assert_eq!(format::AMD64_RETURN_ADDRESS_OFFSET, -8);
    for bytes in [&V1[..], &V2, &V3] {
        let section = Section::parse(bytes, ADDRESS).unwrap();
        let fixed = section.fixed_return_address_offset();
        assert_eq!(fixed, format::AMD64_RETURN_ADDRESS_OFFSET);
    }
}

/// The header may fix where the frame pointer is saved; no tool has done it so far.
#[test]
fn a_fixed_frame_pointer() {
    let bytes = with(&V2, FIXED_FRAME_POINTER, 0xf0);
    let fixed = |bytes: &[u8]| {
        let section = Section::parse(bytes, ADDRESS).unwrap();
        let frame_pointer = section.fixed_frame_pointer_offset();
        (frame_pointer, section.fixed_return_address_offset())
    };
    assert_eq!((fixed(&V2), fixed(&bytes)), ((0, -8), (-16, -8)));
    let saved = Row {
        frame_pointer: at_cfa(-16),
        ..row(0, 8)
    };
    assert_eq!(row_at(&bytes, 0x1000), Ok(saved));
    // Its word is then one too many.
    assert_eq!(row_at(&bytes, 0x1011), Err(LookupError::Damaged));
    let bytes = with(&V3, FIXED_FRAME_POINTER, 0xf0);
    assert_eq!(row_at(&bytes, 0x1000), Ok(saved));
    assert_eq!(row_at(&bytes, 0x1011), Err(LookupError::Damaged));
}

/// AArch64 tells the return address by rows: with two words it is the second.
#[test]
fn two_words_on_aarch64() {
    let mut bytes = with(&V2, ABI, 2);
    bytes[FIXED_RETURN_ADDRESS] = 0;
    let expected = Row {
        return_address: at_cfa(-16),
        frame_pointer: Rule::Same,
        ..PUSHED
    };
    assert_eq!(row_at(&bytes, 0x1011), Ok(expected));
    // Or it carries an authentication code.
    bytes[V2.len() - 3] |= 0x80;
    let signed = Row {
        signed: true,
        kept: unwind::Kept::ALL,
        ..expected
    };
    assert_eq!(row_at(&bytes, 0x1011), Ok(signed));
}

/// A table of s390x is big-endian; where one says that it is not, its numbers are scaled all the same.
#[test]
fn the_rules_are_those_of_the_abi() {
    let bytes = with(&V3, ABI, 4);
    assert_eq!(row_at(&bytes, 0x1000), Ok(row(0, 8 * 8 + 160)));
}

/// Version 2 errata 1 for s390x: an odd word is a register, 0 stands for nothing, the CFA is scaled.
const S390X: [u8; 61] = [
    0xde, 0xe2, 2, 4, // magic, version, flags: starts relative to themselves
    4, 0, 0, 0, // ABI: s390x; nothing fixed; no auxiliary header
    0, 0, 0, 1, // functions
    0, 0, 0, 3, // rows
    0, 0, 0, 13, // bytes of rows
    0, 0, 0, 0, // offset of the functions
    0, 0, 0, 20, // offset of the rows
    0xff, 0xff, 0xef, 0xe4, // start: -0x101c, from 0x201c
    0, 0, 0, 16, // bytes
    0, 0, 0, 0, // offset of its rows
    0, 0, 0, 3, // rows
    0, 0, 0, 0, // info, block size, padding
    0, 3, 0, // from 0: one word, CFA is SP + 160
    4, 7, 20, 0,
    0xb8, // from 4: three words, CFA is SP + 20 * 8 + 160, nothing, frame pointer at CFA - 72
    8, 7, 20, 33, 35, // from 8: return address in register 33 / 2, frame pointer in 35 / 2
];

#[test]
fn registers_of_s390x() {
    let cfa = |offset| Rule::Value {
        base: Base::StackPointer,
        offset,
    };
    let in_register = |number| Rule::Value {
        base: Base::Register(number),
        offset: 0,
    };
    let expected = [
        (0x1000, cfa(160), Rule::Same, Rule::Same),
        (0x1004, cfa(320), Rule::Same, at_cfa(-72)),
        (0x1008, cfa(320), in_register(16), in_register(17)),
    ];
    for (pc, cfa, return_address, frame_pointer) in expected {
        let found = row_at(&S390X, pc).unwrap();
        assert_eq!(
            (found.cfa, found.return_address, found.frame_pointer),
            (cfa, return_address, frame_pointer)
        );
    }
}
