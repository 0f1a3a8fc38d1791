//! Tables verified as a whole: what is wrong with one of them is found, and named.

use std::error::Error;
use std::fs;
use std::path::Path;

use unwind::sframe::format::Flags;
use unwind::sframe::{Damage, ParseError, Tables, Verified};
use unwind::{Code, Doubt, End, How, Range, Stacks, Unwinder, report, x86_64};

use crate::hand::{ADDRESS, AUXILIARY, FLAGS, V1, V2, V2_BIG, V3, with};

#[track_caller]
fn verify(bytes: &[u8]) -> Result<Verified, Damage> {
    Tables::new(bytes, ADDRESS).verify()
}

/// Offsets, in a section, of fields of its second function: start, size, place of the rows, number of rows, info.
fn fields(section: &[u8]) -> [usize; 5] {
    match section[2] {
        1 => [45, 49, 53, 57, 61],
        2 => [48, 52, 56, 60, 64],
        _ => [44, 52, 56, 68, 70],
    }
}

/// Offset of the second function's first row.
fn rows(section: &[u8]) -> usize {
    section.len() - 7
}

const SOUND: Result<Verified, Damage> = Ok(Verified {
    checksum: false,
    code: false,
});

#[test]
fn a_sound_table_without_a_checksum() {
    for section in [&V1[..], &V2, &V3, &V2_BIG] {
        assert_eq!(verify(section), SOUND);
    }
}

/// One behind the other, as lld leaves them: their functions are counted, and compared, through all of them.
#[test]
fn several_sections() {
    // The second one's functions lie as far behind those of the first as it does.
    assert_eq!(verify(&[V3, V3].concat()), SOUND);
    for (lower, damage) in [
        (0x40, Damage::Overlap { function: 2 }),
        (0x50, Damage::Unsorted { function: 2 }),
    ] {
        let mut second = V3;
        second[28] -= lower;
        second[44] -= lower;
        assert_eq!(verify(&[V3, second].concat()), Err(damage));
    }
}

#[test]
fn functions_in_disorder() {
    for section in [&V1[..], &V2, &V3] {
        let [start, ..] = fields(section);
        // The second function starts 0x10 bytes lower, where the first one does; 1 byte lower; and 0x20 bytes lower.
        for (by, damage) in [
            (0x10, Damage::Overlap { function: 1 }),
            (0x01, Damage::Overlap { function: 1 }),
            (0x20, Damage::Unsorted { function: 1 }),
        ] {
            let mut bytes = section.to_vec();
            let low = u16::from_le_bytes([bytes[start], bytes[start + 1]]) - by;
            bytes[start..start + 2].copy_from_slice(&low.to_le_bytes());
            assert_eq!(verify(&bytes), Err(damage), "{by:#x}");
        }
        // The first one is one byte longer. Its size is a function's entry before that of the second.
        let [_, size, ..] = fields(section);
        let entry = start - 28;
        let bytes = with(section, size - entry, 17);
        assert_eq!(verify(&bytes), Err(Damage::Overlap { function: 1 }));
        // One byte shorter leaves a hole, which is no damage.
        assert_eq!(verify(&with(section, size - entry, 15)), SOUND);
    }
}

#[test]
fn a_function_behind_the_last_address() {
    for (address, expected) in [
        // The functions lie 0x1000 bytes before the table, and have 0x30 bytes.
        (0x1000 - 0x31, SOUND),
        (0x1000 - 0x30, Err(Damage::Overlap { function: 1 })),
    ] {
        assert_eq!(Tables::new(&V3, address).verify(), expected);
    }
}

#[test]
fn a_function_of_no_bytes_is_no_overlap() {
    for section in [&V1[..], &V2, &V3] {
        let [start, size, ..] = fields(section);
        let mut bytes = with(section, size, 0);
        bytes[start] = if section[2] == 3 { 0xd4 } else { 0x00 };
        // Its second row starts behind it.
        let damage = Damage::RowOrder {
            function: 1,
            row: 1,
        };
        assert_eq!(verify(&bytes), Err(damage));
        bytes[rows(section) + 3] = 0;
        assert_eq!(verify(&bytes), SOUND);
    }
}

/// But one in the middle of another function hides the rest of that.
#[test]
fn a_function_of_no_bytes_inside_another_one() {
    for section in [&V1[..], &V2, &V3] {
        let [start, size, ..] = fields(section);
        let mut bytes = with(section, size, 0);
        bytes[start] = if section[2] == 3 { 0xd5 } else { 0x01 };
        assert_eq!(verify(&bytes), Err(Damage::Overlap { function: 1 }));
    }
}

#[test]
fn rows_in_disorder() {
    for section in [&V1[..], &V2, &V3] {
        let wrong = |row| Err(Damage::RowOrder { function: 1, row });
        let row = rows(section);
        // The first row behind the function's start, and behind the second one.
        assert_eq!(verify(&with(section, row, 1)), SOUND);
        assert_eq!(verify(&with(section, row, 2)), wrong(1));
        // The second row starts with the first one, at the function's end, and behind it.
        assert_eq!(verify(&with(section, row + 3, 0)), SOUND);
        assert_eq!(verify(&with(section, row + 3, 32)), SOUND);
        assert_eq!(verify(&with(section, row + 3, 33)), wrong(1));
    }
}

#[test]
fn rows_that_cannot_be_read() {
    for section in [&V1[..], &V2, &V3] {
        let [_, _, place, count, info] = fields(section);
        let unreadable = |row| Err(Damage::Row { function: 1, row });
        let row = rows(section);
        // Words of no width; more words than there are bytes; one row more than there is.
        assert_eq!(verify(&with(section, row + 4, 0x65)), unreadable(1));
        assert_eq!(verify(&with(section, row + 4, 0x07)), unreadable(1));
        assert_eq!(verify(&with(section, count, 3)), unreadable(2));
        let bad = Err(Damage::Function { function: 1 });
        let mut elsewhere = section.to_vec();
        elsewhere[place..place + 4].fill(0xff);
        assert_eq!(verify(&elsewhere), bad);
        // Starts of rows in a width that no version has; a block that is repeated and has no bytes.
        assert_eq!(verify(&with(section, info, 3)), bad);
        if section[2] > 1 {
            assert_eq!(verify(&with(section, info, 1 << 4)), bad);
        }
    }
    // A kind of rows that version 3 does not define.
    assert_eq!(
        verify(&with(&V3, 71, 2)),
        Err(Damage::Function { function: 1 })
    );
}

#[test]
fn another_number_of_rows() {
    for section in [&V1[..], &V2, &V3] {
        for header in [0, 2, 4] {
            let bytes = with(section, 12, header);
            let header = header.into();
            assert_eq!(verify(&bytes), Err(Damage::RowCount { header }));
        }
        let [_, _, place, count, _] = fields(section);
        // The second function has the first one's row, too: the header may count it once or twice.
        let mut shared = with(section, place, 0);
        if section[2] < 3 {
            shared[count] = 1;
        }
        for (header, expected) in [
            (1, SOUND),
            (2, SOUND),
            (3, Err(Damage::RowCount { header: 3 })),
        ] {
            assert_eq!(verify(&with(&shared, 12, header)), expected);
        }
    }
}

/// Every function of a table claims all of its rows: it is not read as often.
#[test]
fn rows_shared_without_end() {
    let (functions, rows) = (1000_u32, 60_000_u32);
    let mut bytes = V2[..28].to_vec();
    for (at, field) in [
        (8, functions),
        (12, rows),
        (16, 3 * rows),
        (24, 20 * functions),
    ] {
        bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
    }
    for index in 0..functions {
        let start = index * 0x10;
        for field in [start, 16, 0, rows, 0] {
            bytes.extend(field.to_le_bytes());
        }
    }
    for _ in 0..rows {
        bytes.extend([0, 3, 8]);
    }
    assert_eq!(verify(&bytes), Err(Damage::TooManyRows));
}

#[test]
fn what_is_no_section() {
    assert_eq!(verify(&[]), Err(Damage::Section(ParseError::Empty)));
    assert_eq!(
        Tables::none().verify(),
        Err(Damage::Section(ParseError::Empty))
    );
    assert_eq!(
        verify(&with(&V3, 0, 1)),
        Err(Damage::Section(ParseError::BadMagic { found: 0xde01 }))
    );
    let damage = Damage::Section(ParseError::Empty);
    let source = damage.source().map(|error| error.to_string());
    assert_eq!(
        (damage.to_string(), source),
        ("empty".into(), Some("empty".into()))
    );
    assert!(Damage::Checksum.source().is_none());
    assert_eq!(
        verify(&with(&V3, AUXILIARY, 1)),
        Err(Damage::Section(ParseError::Rows { end: 81 }))
    );
    assert_eq!(
        verify(&with(&V3, FLAGS, 8)),
        Err(Damage::Section(ParseError::UnknownFlags(8)))
    );
    // Something behind the first section that is none: the first alone would be sound.
    let mut bytes = V3.to_vec();
    bytes.extend([1; 40]);
    assert_eq!(
        verify(&bytes),
        Err(Damage::Section(ParseError::BadMagic { found: 0x0101 }))
    );
}

/// Tables that other tools wrote are sound, unless they are not sorted and say so.
#[test]
fn stored_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let (mut sound, mut unsorted) = (0, 0);
    for version in ["v1", "v2", "v2e1", "v3"] {
        for entry in fs::read_dir(folder.join(version)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|kind| kind != "sframe") {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            // In the middle of all addresses, so that no start wraps around.
            let tables = Tables::new(&bytes, 1 << 32);
            let is_sorted = tables.first().unwrap().flags().contains(Flags::SORTED);
            match tables.verify() {
                Err(Damage::Unsorted { .. }) if !is_sorted => unsorted += 1,
                outcome => {
                    assert_eq!(outcome, SOUND, "{}", path.display());
                    sound += 1;
                }
            }
        }
    }
    assert_eq!((sound, unsorted), (33, 13));
}

/// A walk of a stack on which the second function was called by the first, which nobody called: end, doubt, and how many frames.
fn walk(
    bytes: &[u8],
    outcome: Option<Result<Verified, Damage>>,
) -> (Option<End>, Option<Doubt>, usize) {
    const STACK: [Range; 1] = [Range::new(0x8000, 0x8010)];
    // call 0x1010
    const CODE: [Code<'_>; 1] = [Code::new(&[0xe8, 0x0b, 0, 0, 0], 0x1000)];
    let mut tables = Tables::new(bytes, ADDRESS);
    if let Some(outcome) = outcome {
        tables = tables.verified(outcome);
    }
    let read = |address| Some(if address == 0x8008 { 0x1005 } else { 0 });
    let registers = x86_64::Registers::new(0x1018, 0x8000, 0);
    let unwinder = Unwinder::new(tables).code(&CODE);
    let mut frames = unwinder.frames(registers, Stacks::new(&STACK, read));
    let found = frames.by_ref().count();
    (frames.end(), frames.doubt(), found)
}

/// The first function's row says that it has no caller.
fn rooted() -> Vec<u8> {
    let mut bytes = V3.to_vec();
    bytes.splice(65..68, [0, 0]);
    (bytes[16], bytes[56]) = (19, 7);
    bytes
}

#[test]
fn a_walk_by_damaged_tables_is_never_complete() {
    let bytes = rooted();
    for outcome in [None, Some(SOUND)] {
        let (end, doubt, found) = walk(&bytes, outcome);
        // The tables are valid but contain no proof.
        let reason = doubt.map(|doubt| doubt.reason);
        assert_eq!((end, found), (Some(End::Outermost), 2));
        assert_eq!(reason, Some(End::UnprovenTables));
    }
    let damage = Damage::Overlap { function: 7 };
    let (end, doubt, found) = walk(&bytes, Some(Err(damage)));
    // Every frame is there; that they are right is in doubt.
    assert_eq!((end, found), (Some(End::Outermost), 2));
    let doubt = doubt.unwrap();
    assert_eq!((doubt.frame, doubt.how), (0, How::SFrame));
    assert_eq!(doubt.reason, End::DamagedTables(damage));
    let mut text = String::new();
    report::write_end(&mut text, End::Outermost, Some(doubt), 2).unwrap();
    assert_eq!(
        text,
        "end of backtrace: outermost function reached, from frame 0 on in doubt \
         (the tables are damaged: function number 7 in the unwind table overlaps the previous function), 2 frames\n"
    );
}

/// Where there is no table, nothing is doubted but that.
#[test]
fn a_walk_without_tables_says_so_once() {
    let damage = ParseError::BadMagic { found: 0xde01 };
    let bytes = with(&rooted(), 0, 1);
    let (end, doubt, _) = walk(&bytes, Some(Err(Damage::Section(damage))));
    let reason = End::NoTables(damage);
    assert_eq!(end, Some(reason));
    let doubt = doubt.map(|doubt| (doubt.how, doubt.reason));
    assert_eq!(doubt, Some((How::Scan, reason)));
}
