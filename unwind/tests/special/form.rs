//! The form of a table, which is its version and its order of bytes: it is read as what it says.

use unwind::sframe::{LookupError, Tables};

use crate::hand::{ADDRESS, look_up, row};

/// One function of 16 bytes at 0x1000, in version 2 and in version 3 as a big-endian machine has it. Read as the little-endian
/// entry of version 3, which walks have a faster look-up for, it would be a function far away.
#[test]
fn no_table_is_read_as_one_of_another_form() {
    let v2 = [
        0xe2, 0xde, 2, 5, // magic, version, flags: sorted, starts relative to themselves
        3, 0, 0xf8, 0, // ABI, fixed offsets, auxiliary header
        1, 0, 0, 0, // functions
        1, 0, 0, 0, // rows
        24, 0, 0, 0, // bytes of rows
        0, 0, 0, 0, // offset of the functions
        20, 0, 0, 0, // offset of the rows
        0xe4, 0xef, 0xff, 0xff, // start: -0x101c
        16, 0, 0, 0, // bytes
        13, 0, 0, 0, // offset of its rows
        1, 0, 0, 0, // rows
        0, 0, 0, 0, // info, block size, padding
        // what attributes and a row of version 3 would be
        0, 1, 0, 0, 0, 0, 0, 3, 8, 0, 0, 0, 0, //
        0, 3, 8, // the function's row
        0, 0, 0, 0, 0, 0, 0, 0,
    ];
    let v3_big = [
        0xde, 0xe2, 3, 5, // magic, big-endian
        3, 0, 0xf8, 0, //
        0, 0, 0, 1, //
        0, 0, 0, 1, //
        0, 0, 0, 16, //
        0, 0, 0, 0, //
        0, 0, 0, 16, //
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xef, 0xe4, // start: -0x101c
        0, 0, 0, 16, // bytes
        0, 0, 0, 0, // offset of its attributes
        0, 1, 0, 0, 0, //
        0, 3, 8, //
        0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
    ];
    for bytes in [&v2[..], &v3_big] {
        let tables = Tables::new(bytes, ADDRESS);
        let (function, found) = look_up(&tables, 0x1000).unwrap();
        assert_eq!((function.start(), found), (0x1000, row(0, 8)));
        let start: [u8; 8] = bytes[28..36].try_into().unwrap();
        let far = (ADDRESS + 28).wrapping_add(u64::from_le_bytes(start));
        let outcome = look_up(&tables, far);
        assert_eq!(outcome.unwrap_err(), LookupError::NoFunction);
    }
}
