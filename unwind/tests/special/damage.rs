//! Entries that point elsewhere, rows without an end: found out, and no other function harmed.

use unwind::sframe::{LookupError, Section};

use crate::hand::{ADDRESS, V1, V2, V3, row, row_at, with};

/// The offset, in a section, of the field with the place of the second function's rows.
fn place(section: &[u8]) -> usize {
    match section[2] {
        1 => 28 + 17 + 8,
        2 => 28 + 20 + 8,
        _ => 28 + 16 + 12,
    }
}

#[test]
fn rows_somewhere_else() {
    for section in [&V1[..], &V2, &V3] {
        let mut bytes = section.to_vec();
        bytes[place(section)..][..4].fill(0xff);
        assert_eq!(row_at(&bytes, 0x1010), Err(LookupError::Damaged));
        assert_eq!(row_at(&bytes, 0x1000), Ok(row(0, 8)));
        // One past the last byte: no row fits there.
        let rows_length = section[16];
        let bytes = with(section, place(section), rows_length);
        assert_eq!(row_at(&bytes, 0x1010), Err(LookupError::Damaged));
    }
}

#[test]
fn more_rows_than_there_are() {
    for section in [&V1[..], &V2, &V3] {
        let number = match section[2] {
            3 => 60 + 8,
            _ => place(section) + 4,
        };
        let bytes = with(section, number, 3);
        // Up to the row that is there, and where the next one would be too, nothing tells which holds.
        assert_eq!(row_at(&bytes, 0x1010), Ok(row(0, 8)));
        assert_eq!(row_at(&bytes, 0x1011), Err(LookupError::Damaged));
        let parsed = Section::parse(&bytes, ADDRESS).unwrap();
        let function = parsed.function(1).unwrap();
        assert_eq!((function.rows().count(), function.row_count()), (2, 3));
    }
}

#[test]
fn words_of_no_width() {
    // Info of the last row: two words with width code 3.
    let bytes = with(&V2, V2.len() - 3, 0x65);
    assert_eq!(row_at(&bytes, 0x1010), Err(LookupError::Damaged));
    assert_eq!(row_at(&bytes, 0x1000), Ok(row(0, 8)));
    // Behind a row of another shape, with each number of words; the table is long enough for all of them.
    for info in (0x60..0x7f).flat_map(|info| [info, 0x80 | info]) {
        let mut bytes = with(&with(&V3, 74, 2), 77, info);
        bytes[16] += 0x60;
        bytes.extend([0; 0x60]);
        for pc in [0x1010, 0x1011] {
            let found = row_at(&bytes, pc);
            assert_eq!(found, Err(LookupError::Damaged), "{info:#x}");
        }
    }
}

#[test]
fn words_beyond_the_end() {
    for info in [0x07, 0x1f, 0x25, 0x45] {
        // Three words of 1 byte, fifteen, two of 2 bytes, two of 4.
        let bytes = with(&V2, V2.len() - 3, info);
        assert_eq!(
            row_at(&bytes, 0x102f),
            Err(LookupError::Damaged),
            "{info:#x}"
        );
    }
}

/// AMD64 has two words at most.
#[test]
fn words_without_a_meaning() {
    // The first row of the second function takes in the bytes of the next: 5 words, `1, 5, 16, 0xf0` among them.
    let bytes = with(&with(&V2, 68 + 4, 0x0b), 28 + 20 + 12, 1);
    assert_eq!(row_at(&bytes, 0x1010), Err(LookupError::Damaged));
}
