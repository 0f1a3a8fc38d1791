//! Functions whose rows repeat, block by block.

use unwind::sframe::{LookupError, Section};

use crate::hand::{
    ADDRESS, BLOCK_V2, INFO_V1, INFO_V2, PC_MASK, PUSHED, V1, V2, row, row_at, with,
};

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
