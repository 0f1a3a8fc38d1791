//! Rows of kinds that the stored files do not have.

use unwind::sframe::format::{self, Flags};
use unwind::sframe::{Base, LookupError, Row, Rule, Section, Tables};
use unwind::x86_64::Registers;
use unwind::{Code, How, Range, Stacks, Unwinder};

use crate::hand::{
    ABI, ADDRESS, FIXED_FRAME_POINTER, FIXED_RETURN_ADDRESS, FLAGS, PUSHED, SAYS, V1, V2, V3,
    at_cfa, row, row_at, with,
};

/// Info and block size of the second function of version 2, and info of that of version 1.
const INFO_V2: usize = 28 + 20 + 16;
const BLOCK_V2: usize = INFO_V2 + 1;
const INFO_V1: usize = 28 + 17 + 16;
/// Info and second info of the second function of version 3.
const INFO_V3: usize = 60 + 8 + 2;
const INFO2_V3: usize = INFO_V3 + 1;
const PC_MASK: u8 = 0x10;

/// Versions 1 and 2 can say that every function keeps a frame pointer: that changes no row, and a walk by rows is the same. Where
/// a row is missing, the frame pointer leads on, marked as such.
#[test]
fn that_functions_keep_a_frame_pointer_changes_no_row() {
    for bytes in [&V1[..], &V2] {
        let flagged = with(bytes, FLAGS, bytes[FLAGS] | Flags::FRAME_POINTER.bits());
        let section = Section::parse(&flagged, ADDRESS).expect("a table");
        assert!(section.flags().contains(Flags::FRAME_POINTER));
        for pc in 0xff8..0x1038 {
            assert_eq!(row_at(&flagged, pc), row_at(bytes, pc), "{pc:#x}");
        }
        // In the second function, below its frame; then where no function is, with a frame record at the frame pointer.
        for (pc, how, words) in [
            (0x1018, How::SFrame, [0, 0x1005, 0]),
            (0x1040, How::FramePointer, [0, 0x8018, 0x1005]),
        ] {
            // `call *%rax` before 0x1005.
            let code = [Code::new(&[0xff, 0xd0], 0x1003)];
            let ranges = [Range::new(0x8000, 0x8018)];
            let read = |address: u64| words.get((address as usize - 0x8000) / 8).copied();
            let unwinder = Unwinder::new(Tables::new(&flagged, ADDRESS)).code(&code);
            let registers = Registers::new(pc, 0x8000, 0x8008);
            let mut frames = unwinder.frames(registers, Stacks::new(&ranges, read));
            let caller = frames.nth(1).map(|frame| (frame.pc, frame.how));
            assert_eq!(caller, Some((0x1005, how)), "{pc:#x}");
        }
    }
}

/// A PC-mask function with one row from 0 and one from 1, at 0x1010.
#[test]
fn blocks_repeat() {
    for block in [1_u8, 2, 8, 16, 32] {
        let bytes = with(&with(&V2, INFO_V2, PC_MASK), BLOCK_V2, block);
        for pc in 0x1010..0x1030 {
            let expected = if (pc - 0x1010) % u64::from(block) == 0 {
                row(0, 8)
            } else {
                PUSHED
            };
            assert_eq!(
                row_at(&bytes, pc),
                Ok(expected),
                "block {block}, pc {pc:#x}"
            );
        }
    }
}

#[test]
fn a_block_of_no_bytes_is_damage() {
    let bytes = with(&with(&V2, INFO_V2, PC_MASK), BLOCK_V2, 0);
    assert_eq!(row_at(&bytes, 0x1010), Err(LookupError::Damaged));
    assert_eq!(row_at(&bytes, 0x102f), Err(LookupError::Damaged));
    // The rows are there all the same, and so are the other functions.
    let section = Section::parse(&bytes, ADDRESS).unwrap();
    assert_eq!(section.function_at(0x1010).unwrap().rows().count(), 2);
    assert_eq!(row_at(&bytes, 0x1000), Ok(row(0, 8)));
    // Without the mask the size of a block means nothing.
    assert_eq!(row_at(&with(&V2, BLOCK_V2, 0), 0x1011), Ok(PUSHED));
    assert_eq!(row_at(&with(&V2, BLOCK_V2, 8), 0x1018), Ok(PUSHED));
}

/// Version 1 has no field for it; its one writer, GNU ld 2.40, meant entries of 16 bytes.
#[test]
fn blocks_of_version_1_have_16_bytes() {
    let bytes = with(&V1, INFO_V1, PC_MASK);
    let section = Section::parse(&bytes, ADDRESS).unwrap();
    assert_eq!(section.function_at(0x1010).unwrap().block_size(), 16);
    for (pc, expected) in [
        (0x1010, row(0, 8)),
        (0x101f, PUSHED),
        (0x1020, row(0, 8)),
        (0x1021, PUSHED),
    ] {
        assert_eq!(row_at(&bytes, pc), Ok(expected), "pc {pc:#x}");
    }
}

#[test]
fn what_a_function_says_of_itself() {
    let section = Section::parse(&V1, ADDRESS).unwrap();
    let function = section.function(1).unwrap();
    assert_eq!((function.block_size(), function.uses_key_b()), (0, false));
    for (pc, expected) in SAYS {
        let inside = expected.filter(|(start, _)| *start == 0x1010);
        assert_eq!(function.contains(pc), inside.is_some(), "pc {pc:#x}");
        assert_eq!(function.row_at(pc), inside.map(|(_, row)| row));
    }
    let bytes = with(&V1, INFO_V1, 1 << 5);
    let section = Section::parse(&bytes, ADDRESS).unwrap();
    assert!(section.function(1).unwrap().uses_key_b());
    assert!(!section.function(0).unwrap().uses_key_b());
}

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

#[test]
fn a_frame_may_be_counted_from_the_frame_pointer() {
    for section in [&V1[..], &V2, &V3] {
        let cfa = Rule::Value {
            base: Base::FramePointer,
            offset: 16,
        };
        let bytes = with(section, section.len() - 3, 4);
        assert_eq!(row_at(&bytes, 0x1011), Ok(Row { cfa, ..PUSHED }));
    }
}

/// A table of s390x is big-endian; where one says that it is not, its numbers are scaled all the same.
#[test]
fn the_rules_are_those_of_the_abi() {
    let bytes = with(&V3, ABI, 4);
    assert_eq!(row_at(&bytes, 0x1000), Ok(row(0, 8 * 8 + 160)));
}

/// Rows at or behind the end never hold; those before them do.
#[test]
fn rows_behind_the_end_do_not_matter() {
    for start in [32, 33, 255] {
        let bytes = with(&V2, 68 + 6, start);
        for pc in [0x1010, 0x1011, 0x102f] {
            assert_eq!(row_at(&bytes, pc), Ok(row(0, 8)), "row from {start}");
        }
        assert_eq!(row_at(&bytes, 0x1030), Err(LookupError::NoFunction));
    }
}

/// LLVM writes two rows for one address when directives stand in two places: the last holds.
#[test]
fn the_last_of_two_rows_holds() {
    let bytes = with(&V2, 68 + 6, 0);
    assert_eq!(
        row_at(&bytes, 0x1010),
        Ok(Row {
            offset: 0,
            ..PUSHED
        })
    );
}

#[test]
fn before_the_first_row_is_none() {
    let bytes = with(&V2, 68 + 3, 1);
    assert_eq!(row_at(&bytes, 0x1010), Err(LookupError::NoRow));
    assert_eq!(row_at(&bytes, 0x1011), Ok(PUSHED));
}

#[test]
fn functions_without_rows() {
    let none = with(&V3, 60 + 8, 0);
    assert_eq!(
        row_at(&none, 0x1010),
        Err(LookupError::NoRows { signal: false })
    );
    let signal = with(&none, INFO_V3, 0x80);
    assert_eq!(
        row_at(&signal, 0x1010),
        Err(LookupError::NoRows { signal: true })
    );
    // The bit meant nothing before version 3.
    let section = with(&V2, INFO_V2, 0x80);
    assert!(
        !Section::parse(&section, ADDRESS)
            .unwrap()
            .function(1)
            .unwrap()
            .is_signal_frame()
    );
    assert_eq!(row_at(&section, 0x1011), Ok(PUSHED));
}

/// No words at all: the function has no caller.
#[test]
fn the_outermost_row() {
    for section in [&V1[..], &V2, &V3] {
        let bytes = with(section, section.len() - 3, 0);
        let found = row_at(&bytes, 0x1011).unwrap();
        assert!(found.is_outermost());
        assert_eq!(found.cfa, Rule::Undefined);
        assert!(!row_at(&bytes, 0x1010).unwrap().is_outermost());
        // The bit for the CFA's base means nothing then.
        let bytes = with(section, section.len() - 3, 1);
        assert!(row_at(&bytes, 0x1011).unwrap().is_outermost());
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
        ..expected
    };
    assert_eq!(row_at(&bytes, 0x1011), Ok(signed));
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

/// A section of version 3 with one flexible function at 0x1000 that has one row: the words as given, of 1 byte.
fn flexible(info2: u8, words: &[u8]) -> Vec<u8> {
    let mut bytes = V3[..44].to_vec();
    bytes[8] = 1; // functions
    bytes[12] = 1; // rows
    bytes[16] = 7 + words.len() as u8; // bytes of rows: attributes, start, info, words
    bytes[24] = 16; // offset of the rows
    bytes.extend([1, 0, 0, info2, 0]); // one row, starts of 1 byte, not PC-mask
    bytes.extend([0, (words.len() as u8) << 1]); // from 0; the CFA's bit means nothing here
    bytes.extend(words);
    bytes
}

/// Control words: bit 0 names a register in the bits from 3 on, bit 1 loads.
#[test]
fn flexible_rows() {
    const R10: u8 = 10 << 3 | 1;
    const RBP_LOADED: u8 = 6 << 3 | 3;
    let value = |number, offset| Rule::Value {
        base: Base::Register(number),
        offset,
    };
    let loaded = |offset| Rule::Saved {
        base: Base::FramePointer,
        offset,
    };
    let found = |words: &[u8]| {
        row_at(&flexible(1, words), 0x1000).map(|r| (r.cfa, r.return_address, r.frame_pointer))
    };
    assert_eq!(found(&[R10, 8]), Ok((value(10, 8), at_cfa(-8), Rule::Same)));
    assert_eq!(
        found(&[RBP_LOADED, 0xf8]),
        Ok((loaded(-8), at_cfa(-8), Rule::Same))
    );
    // One padding word for the return address, then the frame pointer.
    assert_eq!(
        found(&[R10, 0, 0, RBP_LOADED, 0]),
        Ok((value(10, 0), at_cfa(-8), loaded(0)))
    );
    // Both; the return address is what register 10 holds.
    assert_eq!(
        found(&[R10, 0, R10, 0, 2, 0xf0]),
        Ok((value(10, 0), value(10, 0), at_cfa(-16)))
    );
    // An address in the frame, not loaded.
    let in_frame = Rule::Value {
        base: Base::Cfa,
        offset: -16,
    };
    // Control word: base is the CFA, nothing is loaded. That is 0 and so stands for nothing; bit 2 has no meaning yet.
    assert_eq!(
        found(&[R10, 0, 4, 0xf0]),
        Ok((value(10, 0), in_frame, Rule::Same))
    );
    assert_eq!(
        found(&[]),
        Ok((Rule::Undefined, Rule::Undefined, Rule::Undefined))
    );
}

#[test]
fn flexible_rows_that_are_damaged() {
    const R10: u8 = 10 << 3 | 1;
    let damaged = [
        &[R10][..],                   // a control word without its offset
        &[0, 0],                      // the CFA cannot be left out
        &[2, 8],                      // nor be counted from itself
        &[R10, 0, R10],               // the return address without its offset
        &[R10, 0, 0, R10],            // the frame pointer without its offset
        &[R10, 0, R10, 0, R10, 0, 0], // a word more than there are rules
    ];
    for words in damaged {
        assert_eq!(
            row_at(&flexible(1, words), 0x1000),
            Err(LookupError::Damaged),
            "{words:?}"
        );
    }
}

#[test]
fn kinds_to_come_are_not_guessed_at() {
    for kind in 2..32 {
        assert_eq!(
            row_at(&flexible(kind, &[0x51, 0]), 0x1000),
            Err(LookupError::Unsupported)
        );
        assert_eq!(
            row_at(&with(&V3, INFO2_V3, kind), 0x1010),
            Err(LookupError::Unsupported)
        );
    }
    // Starts of 8, 16, ... bytes.
    for width in 3..16 {
        assert_eq!(
            row_at(&with(&V2, INFO_V2, width), 0x1010),
            Err(LookupError::Unsupported)
        );
        for info in [width, PC_MASK | width] {
            assert_eq!(
                row_at(&with(&V3, INFO_V3, info), 0x1010),
                Err(LookupError::Unsupported)
            );
        }
    }
}
