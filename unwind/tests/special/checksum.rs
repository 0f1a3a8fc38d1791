//! Tables with a checksum, which only `sframe-link` writes.

use unwind::sframe::{Damage, Tables, Verified};

use crate::hand::{ADDRESS, V3, with};

/// `V3` with the checksum and its magic number behind it, 8 bytes that the header counts as bytes of rows.
fn with_checksum() -> Vec<u8> {
    let mut bytes = V3.to_vec();
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
fn a_checksum_is_right_or_damage() {
    let sound = with_checksum();
    assert_eq!(
        verify(&sound),
        Ok(Verified {
            checksum: true,
            code: false
        })
    );
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
    assert_eq!(
        verify(&none),
        Ok(Verified {
            checksum: false,
            code: false
        })
    );
}
