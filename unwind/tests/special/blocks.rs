//! Tables with a block index and a checksum, which only `sframe-link` writes.

use unwind::sframe::{Damage, LookupError, Tables, Verified};
use unwind::{Found, RowSource};

use crate::hand::{ADDRESS, SAYS, V3, look_up, with};

/// `V3` with a block index for blocks of 16 bytes from 0x1000 on. Each entry: the function that its block begins in, and how many
/// of that function's rows end before, with how many bytes.
fn indexed(entries: &[(u32, u16, u16)]) -> Vec<u8> {
    let (functions, rows) = V3.split_at(60);
    let mut index = Vec::from(*b"SFBX");
    index.extend([4, 0, 0, 0]);
    index.extend((entries.len() as u32).to_le_bytes());
    let field = ADDRESS + 60 + index.len() as u64;
    index.extend(0x1000_u64.wrapping_sub(field).to_le_bytes());
    for (function, rows, bytes) in entries {
        index.extend(function.to_le_bytes());
        index.extend(rows.to_le_bytes());
        index.extend(bytes.to_le_bytes());
    }
    let mut bytes = [functions, &index, rows].concat();
    bytes[24] += index.len() as u8;
    bytes
}

/// The right index: in the block at 0x1020 the second row holds, and after the last block as well.
const RIGHT: [(u32, u16, u16); 4] = [(0, 0, 0), (1, 0, 0), (1, 1, 3), (1, 1, 3)];

/// Appends the checksum and its magic number, 8 bytes that the header counts as bytes of rows.
fn with_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[16] += 8;
    let checksum = crc32fast::hash(&bytes).to_le_bytes();
    bytes.extend(checksum);
    bytes.extend(b"SFCK");
    bytes
}

fn verify(bytes: &[u8]) -> Result<Verified, Damage> {
    Tables::new(bytes, ADDRESS).verify()
}

#[test]
fn an_index_changes_no_row() {
    let bytes = indexed(&RIGHT);
    let tables = Tables::new(&bytes, ADDRESS);
    for (pc, expected) in SAYS {
        let found = look_up(&tables, pc).ok().map(|(f, row)| (f.start(), row));
        assert_eq!(found, expected, "pc {pc:#x}");
    }
}

/// What it says to skip is not read: where it skips too much, a walk finds no row, and the look-up that does not use it does.
#[test]
fn an_index_is_used() {
    let bytes = indexed(&[RIGHT[0], RIGHT[1], (1, 2, 7), RIGHT[3]]);
    let tables = Tables::new(&bytes, ADDRESS);
    let mut found = Found::EMPTY;
    assert_eq!(tables.look_up(0x101f, &mut found), Ok(()));
    let outcome = tables.look_up(0x1020, &mut found);
    assert_eq!(outcome, Err(LookupError::NoRow));
    assert!(tables.lookup(0x1020).is_ok());
    // Without its magic number it is none.
    let bytes = with(&bytes, 60, 0);
    assert_eq!(
        Tables::new(&bytes, ADDRESS).look_up(0x1020, &mut found),
        Ok(())
    );
}

/// Rows are skipped in the function that the block begins in, and in no other one.
#[test]
fn what_is_skipped_belongs_to_one_function() {
    let bytes = indexed(&[(0, 1, 3), RIGHT[3]]);
    // Blocks of 64 bytes: both functions are in the first one.
    let tables = with(&bytes, 64, 6);
    let tables = Tables::new(&tables, ADDRESS);
    let mut found = Found::EMPTY;
    assert_eq!(tables.look_up(0x1010, &mut found), Ok(()));
    assert_eq!(tables.look_up(0x1000, &mut found), Err(LookupError::NoRow));
}

#[test]
fn a_checksum_is_right_or_damage() {
    for bytes in [&V3[..], &indexed(&RIGHT)] {
        let sound = with_checksum(bytes);
        assert_eq!(verify(&sound), Ok(Verified { checksum: true }));
        for bit in 0..8 * sound.len() {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&bytes).is_err(), "bit {bit}");
        }
        // The checksum itself, or one byte of its magic number; with two wrong bytes there is none.
        let at = sound.len() - 8;
        let wrong = |at: usize| with(&sound, at, sound[at] ^ 0x55);
        assert_eq!(verify(&wrong(at)), Err(Damage::Checksum));
        assert_eq!(verify(&wrong(at + 7)), Err(Damage::Checksum));
        let none = with(&wrong(at + 7), at + 6, 0);
        let expected = match bytes.len() == V3.len() {
            true => Ok(Verified { checksum: false }),
            false => Err(Damage::NoChecksum),
        };
        assert_eq!(verify(&none), expected);
    }
    assert_eq!(verify(&indexed(&RIGHT)), Err(Damage::NoChecksum));
}
