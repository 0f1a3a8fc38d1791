//! What is not a section, and why: refused by name, not misread.

use unwind::sframe::{ParseError, Section, Tables};

use crate::hand::{ABI, ADDRESS, AUXILIARY, FLAGS, V1, V2, V2_BIG, V3, with};

fn refusal(bytes: &[u8]) -> ParseError {
    let error = Section::parse(bytes, ADDRESS).unwrap_err();
    assert_eq!(Tables::new(bytes, ADDRESS).first().unwrap_err(), error);
    error
}

/// The layout of the draft layout (binutils mailing list, September 2022), which no released tool wrote.
const DRAFT: [u8; 48] = [
    0xe2, 0xde, // magic, little-endian
    1,    // version
    1,    // flags: sorted
    3,    // ABI: AMD64
    0,    // fixed offset of the frame pointer: none
    0xf8, // fixed offset of the return address: -8
    // no length of an auxiliary header: the released version has it here
    1, 0, 0, 0, // functions
    1, 0, 0, 0, // rows
    4, 0, 0, 0, // bytes of rows
    0, 0, 0, 0, // offset of the functions
    17, 0, 0, 0, // offset of the rows
    // the function
    0x00, 0xf0, 0xff, 0xff, // start: -0x1000
    16, 0, 0, 0, // bytes
    0, 0, 0, 0, // offset of its rows
    1, 0, 0, 0, // rows
    1, // info: starts of rows in 1 byte, which the released version counts as 0
    // its row
    0, 5, 16, 0xf0, // from 0: two words, CFA is SP + 16, frame pointer at CFA - 16
];

/// The same, big-endian.
const DRAFT_BIG: [u8; 48] = [
    0xde, 0xe2, 1, 1, 1, 0,
    0, // magic, version, flags, ABI: AArch64 big-endian, fixed offsets
    0, 0, 0, 1, // functions
    0, 0, 0, 1, // rows
    0, 0, 0, 4, // bytes of rows
    0, 0, 0, 0, // offset of the functions
    0, 0, 0, 17, // offset of the rows
    0xff, 0xff, 0xf0, 0x00, // start: -0x1000
    0, 0, 0, 16, // bytes
    0, 0, 0, 0, // offset of its rows
    0, 0, 0, 1, // rows
    1, // info
    0, 5, 16, 0xf0,
];

#[test]
fn the_draft_of_version_1() {
    assert_eq!(refusal(&DRAFT), ParseError::DraftVersion1);
    assert_eq!(refusal(&DRAFT_BIG), ParseError::DraftVersion1);
    // Also as part of something longer.
    assert_eq!(
        refusal(&[&DRAFT[..], &[0; 100]].concat()),
        ParseError::DraftVersion1
    );
    let text = refusal(&DRAFT).to_string();
    assert!(text.contains("draft layout"), "{text}");
    // Released ones are not taken for it, not even those that hold nothing or have an auxiliary header.
    assert!(Section::parse(&V1, ADDRESS).is_ok());
    let mut nothing = V1[..28].to_vec();
    nothing[8..28].fill(0);
    assert_eq!(
        Section::parse(&nothing, ADDRESS).unwrap().function_count(),
        0
    );
    let auxiliary = [&with(&V1[..28], AUXILIARY, 2), &[0; 2][..], &V1[28..]].concat();
    assert!(Section::parse(&auxiliary, ADDRESS).is_ok());
}

/// libsframe's masks: 7 up to version 2, 5 in version 3, which has no promise of frame pointers.
#[test]
fn unknown_flags() {
    for (section, known) in [(&V1[..], 7), (&V2, 7), (&V3, 5)] {
        for flags in 0..=255_u8 {
            let bytes = with(section, FLAGS, flags);
            match Section::parse(&bytes, ADDRESS) {
                Ok(parsed) => {
                    assert_eq!(flags & !known, 0, "version {}", section[2]);
                    assert_eq!(parsed.flags().bits(), flags);
                }
                Err(error) => {
                    assert_ne!(flags & !known, 0, "version {}", section[2]);
                    assert_eq!(error, ParseError::UnknownFlags(flags));
                }
            }
        }
    }
}

#[test]
fn unknown_versions_and_abis() {
    for version in (0..=255).filter(|version| !(1..=3).contains(version)) {
        assert_eq!(
            refusal(&with(&V2, 2, version)),
            ParseError::UnknownVersion(version)
        );
    }
    for abi in (0..=255).filter(|abi| !(1..=4).contains(abi)) {
        assert_eq!(refusal(&with(&V3, ABI, abi)), ParseError::UnknownAbi(abi));
    }
}

#[test]
fn other_bytes() {
    assert_eq!(
        refusal(b"\x7fELF\x02\x01\x01"),
        ParseError::BadMagic { found: 0x457f }
    );
    assert_eq!(
        refusal(&with(&V2, 1, 0xdf)),
        ParseError::BadMagic { found: 0xdfe2 }
    );
    // Both bytes in the wrong place is the other byte order, in which this section is far too long.
    let swapped = [&[0xde, 0xe2], &V2[2..]].concat();
    assert!(matches!(refusal(&swapped), ParseError::Functions { .. }));
}

#[test]
fn every_cut_is_noticed() {
    for section in [&V1[..], &V2, &V2_BIG, &V3] {
        for length in 1..section.len() {
            let error = refusal(&section[..length]);
            match error {
                ParseError::Short { length: found } => assert!(found == length && length < 28),
                ParseError::Functions { end } => assert!(end as usize > length && length >= 28),
                ParseError::Rows { end } => assert_eq!(end, section.len() as u64),
                other => panic!("{length} bytes: {other}"),
            }
        }
    }
}

#[test]
fn lengths_that_do_not_fit() {
    assert_eq!(
        refusal(&with(&V2, AUXILIARY, 255)),
        ParseError::AuxiliaryHeader { length: 255 }
    );
    // The greatest numbers there are, in every place: sums must not wrap.
    for field in [8, 16, 20, 24] {
        for section in [&V1[..], &V2, &V3] {
            let mut bytes = section.to_vec();
            bytes[field..field + 4].fill(0xff);
            let error = refusal(&bytes);
            assert!(
                matches!(
                    error,
                    ParseError::Functions { .. } | ParseError::Rows { .. }
                ),
                "{error}"
            );
        }
    }
}
