//! Flexible functions of version 3, and kinds that no version has yet.

use unwind::sframe::{Base, LookupError, Rule};

use crate::hand::{INFO_V2, INFO_V3, INFO2_V3, PC_MASK, V2, V3, at_cfa, row_at, with};

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
