//! Words that are no instructions, or only fill room.

use super::*;

#[test]
fn words_with_reserved_fields_are_no_instructions() {
    let is_instruction = |word: u32| {
        let mut machine = Machine::at_entry(A64::STACK_POINTER);
        let executed = A64.execute(&word.to_le_bytes(), &mut machine, &mut Tables::default());
        executed.is_some()
    };
    // Each with one that differs from it in the reserved field.
    for (what, reserved, other) in [
        ("movz w0, #0, lsl #32", 0x52c0_0000, 0x5280_0000),
        ("add with ror", 0x8bc0_0000, 0x8b80_0000),
        ("add w0, w0, w0, lsl #32", 0x0b00_8000, 0x0b00_4000),
        ("add extended by 5", 0x8b20_1400, 0x8b20_1000),
        ("adds of tags", 0xb180_0000, 0xb100_0000),
        ("str of half a quad word", 0x7d80_0000, 0x3d80_0000),
        ("ldr with a byte as index", 0xf860_0800, 0xf860_4800),
        ("stp of vectors of no size", 0xed00_0000, 0xad00_0000),
        ("ldr of vectors of no size", 0xdc00_0000, 0x9c00_0000),
        ("and w0, w0, w0, lsl #32", 0x0a00_8000, 0x0a00_4000),
        ("and w0 with a mask of 64 bits", 0x1240_0000, 0x1200_0000),
        ("and with all bits", 0x1200_7c00, 0x1200_7800),
        ("ubfm w0 of 64 bits", 0x5340_0000, 0x5300_0000),
        ("ubfm w0 from bit 32", 0x5320_0000, 0x5310_0000),
        ("ubfm w0 to bit 32", 0x5300_8000, 0x5300_4000),
    ] {
        assert!(!is_instruction(reserved), "{what}");
        assert!(is_instruction(other), "not {what}");
    }
}

#[test]
fn bytes_that_only_fill_room() {
    let padding = |word: u32| A64.padding(&word.to_le_bytes());
    assert_eq!([0xd503_201f, 0xd420_0020, 0].map(padding), [Some(4); 3]);
    assert_eq!(padding(0xd65f_03c0), None);
    assert_eq!(A64.length(&[0; 4], 0), Some(4));
    assert_eq!(A64.length(&[0; 5], 0), Some(4));
    assert_eq!(A64.length(&[0; 3], 0), None);
}
