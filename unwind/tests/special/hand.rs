//! The same two functions in each version, byte by byte: one of 16 bytes at 0x1000 with a row, and one of 32 bytes at
//! 0x1010 with two rows. The section lies at 0x2000.

use unwind::sframe::{Base, Function, LookupError, Row, Rule, Section, Tables};
use unwind::{Found, RowSource, Rules};

/// Where the sections lie.
pub const ADDRESS: u64 = 0x2000;

/// As GNU ld 2.40 writes it.
pub const V1: [u8; 72] = [
    0xe2, 0xde, // magic, little-endian
    1,    // version
    1,    // flags: sorted; so the starts are relative to the section
    3,    // ABI: AMD64
    0,    // fixed offset of the frame pointer: none
    0xf8, // fixed offset of the return address: -8
    0,    // length of the auxiliary header
    2, 0, 0, 0, // functions
    3, 0, 0, 0, // rows
    10, 0, 0, 0, // bytes of rows
    0, 0, 0, 0, // offset of the functions
    34, 0, 0, 0, // offset of the rows: 2 functions of 17 bytes
    // first function
    0x00, 0xf0, 0xff, 0xff, // start: -0x1000
    16, 0, 0, 0, // bytes
    0, 0, 0, 0, // offset of its rows
    1, 0, 0, 0, // rows
    0, // info: starts of rows in 1 byte
    // second function
    0x10, 0xf0, 0xff, 0xff, // start: -0xff0
    32, 0, 0, 0, // bytes
    3, 0, 0, 0, // offset of its rows
    2, 0, 0, 0, // rows
    0, // info
    // rows of the first
    0, 3, 8, // from 0: one word of 1 byte, CFA is SP + 8
    // rows of the second
    0, 3, 8, // from 0: CFA is SP + 8
    1, 5, 16, 0xf0, // from 1: two words, CFA is SP + 16, frame pointer at CFA - 16
];

/// As GNU ld 2.44 writes it.
pub const V2: [u8; 78] = [
    0xe2, 0xde, 2, 1, // magic, version, flags: sorted
    3, 0, 0xf8, 0, // ABI, fixed offsets, auxiliary header
    2, 0, 0, 0, // functions
    3, 0, 0, 0, // rows
    10, 0, 0, 0, // bytes of rows
    0, 0, 0, 0, // offset of the functions
    40, 0, 0, 0, // offset of the rows: 2 functions of 20 bytes
    // first function
    0x00, 0xf0, 0xff, 0xff, // start: -0x1000
    16, 0, 0, 0, // bytes
    0, 0, 0, 0, // offset of its rows
    1, 0, 0, 0, // rows
    0, // info
    0, // block size
    0, 0, // padding
    // second function
    0x10, 0xf0, 0xff, 0xff, // start: -0xff0
    32, 0, 0, 0, // bytes
    3, 0, 0, 0, // offset of its rows
    2, 0, 0, 0, // rows
    0, 0, 0, 0, // info, block size, padding
    // rows, as in version 1
    0, 3, 8, //
    0, 3, 8, //
    1, 5, 16, 0xf0,
];

/// As GNU ld 2.46 and later write it.
pub const V3: [u8; 80] = [
    0xe2, 0xde, 3, 5, // magic, version, flags: sorted, starts relative to themselves
    3, 0, 0xf8, 0, // ABI, fixed offsets, auxiliary header
    2, 0, 0, 0, // functions
    3, 0, 0, 0, // rows
    20, 0, 0, 0, // bytes of rows and attributes
    0, 0, 0, 0, // offset of the functions
    32, 0, 0, 0, // offset of the rows: 2 functions of 16 bytes
    // first function, at offset 28
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // start: -0x101c
    16, 0, 0, 0, // bytes
    0, 0, 0, 0, // offset of its attributes
    // second function, at offset 44
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // start: -0x101c
    32, 0, 0, 0, // bytes
    8, 0, 0, 0, // offset of its attributes
    // attributes and rows of the first
    1, 0, // rows
    0, 0, 0, // info, second info, block size
    0, 3, 8, // from 0: CFA is SP + 8
    // attributes and rows of the second
    2, 0, 0, 0, 0, //
    0, 3, 8, //
    1, 5, 16, 0xf0,
];

/// `V2` with its numbers in the other byte order. The rows have numbers of 1 byte only.
pub const V2_BIG: [u8; 78] = [
    0xde, 0xe2, 2, 1, // magic, big-endian
    3, 0, 0xf8, 0, //
    0, 0, 0, 2, //
    0, 0, 0, 3, //
    0, 0, 0, 10, //
    0, 0, 0, 0, //
    0, 0, 0, 40, //
    0xff, 0xff, 0xf0, 0x00, //
    0, 0, 0, 16, //
    0, 0, 0, 0, //
    0, 0, 0, 1, //
    0, 0, 0, 0, //
    0xff, 0xff, 0xf0, 0x10, //
    0, 0, 0, 32, //
    0, 0, 0, 3, //
    0, 0, 0, 2, //
    0, 0, 0, 0, //
    0, 3, 8, //
    0, 3, 8, //
    1, 5, 16, 0xf0,
];

/// Offsets in the header.
pub const FLAGS: usize = 3;
pub const ABI: usize = 4;
pub const FIXED_FRAME_POINTER: usize = 5;
pub const FIXED_RETURN_ADDRESS: usize = 6;
pub const AUXILIARY: usize = 7;

/// `CFA = SP + cfa`, the return address below it, the frame pointer where it was.
pub const fn row(offset: u32, cfa: i64) -> Row {
    Row {
        offset,
        cfa: Rule::Value {
            base: Base::StackPointer,
            offset: cfa,
        },
        return_address: at_cfa(-8),
        frame_pointer: Rule::Same,
        signed: false,
        kept: unwind::Kept::ALL,
    }
}

/// The second row of the second function.
pub const PUSHED: Row = Row {
    frame_pointer: at_cfa(-16),
    ..row(1, 16)
};

pub const fn at_cfa(offset: i64) -> Rule {
    Rule::Saved {
        base: Base::Cfa,
        offset,
    }
}

/// What every one of the sections above says.
pub const SAYS: [(u64, Option<(u64, Row)>); 8] = [
    (0xfff, None),
    (0x1000, Some((0x1000, row(0, 8)))),
    (0x100f, Some((0x1000, row(0, 8)))),
    (0x1010, Some((0x1010, row(0, 8)))),
    (0x1011, Some((0x1010, PUSHED))),
    (0x102f, Some((0x1010, PUSHED))),
    (0x1030, None),
    (u64::MAX, None),
];

/// The bytes with one of them changed.
pub fn with(bytes: &[u8], offset: usize, value: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[offset] = value;
    bytes
}

/// The row for an address, and its function. The faster look-up of walks has to say the same.
pub fn look_up<'a>(tables: &Tables<'a>, pc: u64) -> Result<(Function<'a>, Row), LookupError> {
    let told = tables.lookup(pc);
    let mut found = Found::EMPTY;
    let walks = tables.look_up(pc, &mut found).map(|()| found.rules);
    let told_rules = told.map(|(_, row)| Rules::from(&row));
    assert_eq!(walks, told_rules, "pc {pc:#x}");
    told
}

/// As [`look_up`], in tables of these bytes.
pub fn row_at(bytes: &[u8], pc: u64) -> Result<Row, LookupError> {
    assert!(Section::parse(bytes, ADDRESS).is_ok());
    let row = |bytes: &[u8]| look_up(&Tables::new(bytes, ADDRESS), pc).map(|(_, row)| row);
    let (found, longer) = (row(bytes), row(&followed(bytes)));
    if found != Err(LookupError::Damaged) {
        assert_eq!(longer, found);
    }
    found
}

/// A little-endian section with eight bytes more behind its rows, which belong to none: the faster look-up reads as many at once,
/// and leaves the last rows of a section to the other.
fn followed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes[0] == 0xe2 {
        bytes[16] += 8;
        bytes.extend([0x55; 8]);
    }
    bytes
}

/// Info and block size of the second function of version 2, and info of that of version 1.
pub const INFO_V2: usize = 28 + 20 + 16;
pub const BLOCK_V2: usize = INFO_V2 + 1;
pub const INFO_V1: usize = 28 + 17 + 16;
/// Info and second info of the second function of version 3.
pub const INFO_V3: usize = 60 + 8 + 2;
pub const INFO2_V3: usize = INFO_V3 + 1;
/// The bit of the info byte.
pub const PC_MASK: u8 = 0x10;
