//! Where a section ends, and what may come after it.

use unwind::sframe::{LookupError, ParseError, Row, Section, Sections, Tables};

use crate::hand::{ADDRESS, AUXILIARY, SAYS, V1, V2, V3, look_up, with};

fn found(tables: &Tables<'_>, pc: u64) -> Option<(u64, Row)> {
    look_up(tables, pc)
        .ok()
        .map(|(function, row)| (function.start(), row))
}

fn says_the_same(bytes: &[u8]) {
    let tables = Tables::new(bytes, ADDRESS);
    for (pc, expected) in SAYS {
        assert_eq!(found(&tables, pc), expected, "pc {pc:#x}");
    }
}

#[test]
fn every_version_says_the_same() {
    says_the_same(&V1);
    says_the_same(&V2);
    says_the_same(&V3);
}

#[test]
fn no_bytes_are_no_table() {
    assert_eq!(Section::parse(&[], ADDRESS).unwrap_err(), ParseError::Empty);
    assert_eq!(Sections::new(&[], ADDRESS).count(), 0);
    for tables in [Tables::new(&[], ADDRESS), Tables::none()] {
        assert_eq!(tables.first().unwrap_err(), ParseError::Empty);
        let error = look_up(&tables, 0x1000).unwrap_err();
        assert_eq!(error, LookupError::NoFunction);
        assert_eq!(
            error.to_string(),
            "no function in the unwind table contains the address"
        );
        assert!(tables.function_at(0x1000).is_none());
    }
}

#[test]
fn zeros_are_no_table() {
    for length in [1, 7, 8, 28, 4096] {
        let zeros = vec![0; length];
        assert_eq!(Sections::new(&zeros, ADDRESS).count(), 0);
        assert_eq!(
            Tables::new(&zeros, ADDRESS).first().unwrap_err(),
            ParseError::Empty
        );
    }
}

#[test]
fn zeros_may_follow() {
    for section in [&V1[..], &V2, &V3] {
        for padding in [1, 2, 7, 8, 100] {
            let bytes = [section, &vec![0; padding]].concat();
            says_the_same(&bytes);
            assert_eq!(Sections::new(&bytes, ADDRESS).count(), 1);
            let parsed = Section::parse(&bytes, ADDRESS).unwrap();
            assert_eq!(parsed.length(), section.len());
        }
    }
}

/// The last row's last word may be 0, which is no padding.
#[test]
fn a_section_may_end_in_zero() {
    let first = with(&V2, V2.len() - 1, 0);
    let bytes = [&first[..], &[0, 0], &V3].concat();
    // 78 bytes, and 2 to the next multiple of 8.
    let sections: Vec<_> = Sections::new(&bytes, ADDRESS).map(Result::unwrap).collect();
    assert_eq!(sections.len(), 2);
    assert_eq!(sections[1].address(), ADDRESS + 80);
    assert_eq!(sections[1].version(), 3);
}

/// lld, gold and mold only put sections one after another, each aligned to 8 bytes, whatever their versions.
#[test]
fn several_sections_are_one_table() {
    let bytes = [&V1[..], &V2, &[0, 0], &V3, &V3].concat();
    let sections: Vec<_> = Sections::new(&bytes, ADDRESS).map(Result::unwrap).collect();
    let at: Vec<_> = sections
        .iter()
        .map(|s| (s.address(), s.version()))
        .collect();
    assert_eq!(at, [(0x2000, 1), (0x2048, 2), (0x2098, 3), (0x20e8, 3)]);

    // Each one's functions lie 0x1000 bytes before itself.
    let tables = Tables::new(&bytes, ADDRESS);
    assert_eq!(tables.sections().count(), 4);
    for section in &sections {
        let moved = section.address() - ADDRESS;
        let start = 0x1000 + moved;
        assert_eq!(section.function_at(start).unwrap().start(), start);
        assert_eq!(found(&tables, start).unwrap().0, start);
        assert_eq!(
            tables.function_at(start + 0x10).unwrap().start(),
            start + 0x10
        );
    }
    assert_eq!(
        look_up(&tables, 0x1118).unwrap_err(),
        LookupError::NoFunction
    );
}

/// The length of a section that cannot be parsed is not known, so nothing behind it can be found.
#[test]
fn a_damaged_section_is_the_last() {
    let bytes = [&V1[..], &with(&V3, 2, 9), &V3].concat();
    let mut sections = Sections::new(&bytes, ADDRESS);
    assert_eq!(sections.next().unwrap().unwrap().version(), 1);
    assert_eq!(
        sections.next().unwrap().unwrap_err(),
        ParseError::UnknownVersion(9)
    );
    assert!(sections.next().is_none());
    says_the_same(&bytes);
    // In front of the others it hides them, but says so.
    let tables = Tables::new(&bytes[V1.len()..], ADDRESS);
    assert_eq!(tables.first().unwrap_err(), ParseError::UnknownVersion(9));
    assert_eq!(
        look_up(&tables, 0x1000).unwrap_err(),
        LookupError::NoFunction
    );
}

#[test]
fn an_auxiliary_header_is_skipped() {
    for section in [&V1[..], &V2, &V3] {
        for length in [1_u8, 8, 255] {
            let header = with(&section[..28], AUXILIARY, length);
            let auxiliary = vec![0xee; length.into()];
            let bytes = [&header, &auxiliary, &section[28..]].concat();
            // Starts in version 3 are relative to themselves, and they have moved.
            let moved = if section[2] == 3 {
                u64::from(length)
            } else {
                0
            };
            let tables = Tables::new(&bytes, ADDRESS.wrapping_sub(moved));
            assert_eq!(tables.first().unwrap().length(), bytes.len());
            for (pc, expected) in SAYS {
                assert_eq!(found(&tables, pc), expected, "pc {pc:#x}");
            }
        }
    }
}

/// Rows may come first: the header says where both parts are.
#[test]
fn parts_may_change_places() {
    let mut header = V2[..28].to_vec();
    header[20] = 12; // offset of the functions: behind 10 bytes of rows and 2 of padding
    header[24] = 0; // offset of the rows
    let bytes = [&header[..], &V2[68..], &[0, 0], &V2[28..68]].concat();
    says_the_same(&bytes);
    assert_eq!(
        Section::parse(&bytes, ADDRESS).unwrap().length(),
        bytes.len()
    );
}
