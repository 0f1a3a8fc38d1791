//! The order of functions, and of bytes.

use unwind::sframe::{LookupError, Section, StartRule, Tables};
use unwind::{ByteOrder, Found, RowSource};

use crate::hand::{ADDRESS, FLAGS, SAYS, V1, V2, V2_BIG, V3, look_up, row, with};

/// Version 2 with its two functions in the other order.
fn swapped() -> Vec<u8> {
    [&V2[..28], &V2[48..68], &V2[28..48], &V2[68..]].concat()
}

#[test]
fn an_unsorted_table_is_read_through() {
    let bytes = with(&swapped(), FLAGS, 0);
    // Without flags the starts would be taken as relative to themselves.
    let section = Section::parse_with(&bytes, ADDRESS, StartRule::Section).unwrap();
    assert_eq!(section.function(0).unwrap().start(), 0x1010);
    let tables = Tables::with(&bytes, ADDRESS, StartRule::Section);
    for (pc, expected) in SAYS {
        let found = look_up(&tables, pc).ok().map(|(f, row)| (f.start(), row));
        assert_eq!(found, expected, "pc {pc:#x}");
    }
}

/// A table that only says it is sorted: some functions are not found, but none is taken for another.
#[test]
fn a_lie_about_the_order_is_no_lie_about_a_row() {
    let bytes = swapped();
    let section = Section::parse(&bytes, ADDRESS).unwrap();
    let mut missed = 0;
    for (pc, expected) in SAYS {
        match section.lookup(pc) {
            Ok((function, row)) => {
                assert_eq!(Some((function.start(), row)), expected, "pc {pc:#x}")
            }
            Err(error) => {
                assert_eq!(error, LookupError::NoFunction);
                missed += usize::from(expected.is_some());
            }
        }
    }
    assert!(missed > 0, "the order made no difference");
}

/// Nothing forbids a function of no bytes, and GNU as writes one for `.cfi_startproc` right before `.cfi_endproc`. It
/// starts where the next function does; a sort by start may put it behind that one.
#[test]
fn a_function_of_no_bytes_hides_none() {
    for section in [&V1[..], &V2, &V3] {
        // Size and start of the second function: none, and that of the first.
        let (size, start) = match section[2] {
            1 => (28 + 17 + 4, 28 + 17),
            2 => (28 + 20 + 4, 28 + 20),
            _ => (28 + 16 + 8, 28 + 16),
        };
        let mut bytes = with(section, size, 0);
        bytes[start] = if section[2] == 3 { 0xd4 } else { 0x00 };
        let parsed = Section::parse(&bytes, ADDRESS).unwrap();
        let functions: Vec<_> = parsed.functions().map(|f| (f.start(), f.size())).collect();
        assert_eq!(functions, [(0x1000, 16), (0x1000, 0)]);
        for pc in [0x1000, 0x100f] {
            let (function, found) = parsed.lookup(pc).unwrap();
            assert_eq!((function.size(), found), (16, row(0, 8)));
        }
        assert_eq!(parsed.lookup(0x1010).unwrap_err(), LookupError::NoFunction);
    }
}

/// Of two functions with one start and some bytes each, the last holds.
#[test]
fn the_last_of_several_holds() {
    let bytes = with(&V2, 28 + 20, 0x00);
    for section in [
        Section::parse(&bytes, ADDRESS).unwrap(),
        Section::parse_with(&with(&bytes, FLAGS, 0), ADDRESS, StartRule::Section).unwrap(),
    ] {
        assert_eq!(section.function_at(0x1001).unwrap().size(), 32);
    }
}

/// One that would go on behind the last address: the first ones are not in it.
#[test]
fn a_function_ends_with_the_addresses() {
    for section in [&V1[..], &V2, &V3] {
        // The first function has 16 bytes, at 0x1000.
        let tables = Tables::new(section, ADDRESS.wrapping_sub(0x1008));
        for pc in 0..8 {
            let mut found = Found::EMPTY;
            let looked_up = tables.look_up(pc, &mut found);
            assert_eq!(looked_up, Err(LookupError::NoFunction), "{pc:#x}");
            assert!(!tables.covers(pc), "{pc:#x}");
        }
    }
}

#[test]
fn the_order_of_bytes_is_the_tables_own() {
    let section = Section::parse(&V2_BIG, ADDRESS).unwrap();
    assert_eq!(section.byte_order(), ByteOrder::Big);
    assert_eq!(
        Section::parse(&V2, ADDRESS).unwrap().byte_order(),
        ByteOrder::Little
    );
    let tables = Tables::new(&V2_BIG, ADDRESS);
    for (pc, expected) in SAYS {
        let found = look_up(&tables, pc).ok().map(|(f, row)| (f.start(), row));
        assert_eq!(found, expected, "pc {pc:#x}");
    }
}
