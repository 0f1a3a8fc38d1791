// What the examples of the documentation walk through: the tables, the code and the stack of a small program for x86-64. A kernel gets the
// tables and the code from linker symbols.

use unwind::Range;

/// `.sframe` at 0x2000: an entry function of 16 bytes at 0x1000, and a function of 32 bytes at 0x1010 that pushes its frame pointer.
/// All rows are proven, and the checksum is right.
pub const TABLE: [u8; 107] = [
    0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 2, 0, 0, 0, 3, 0, 0, 0, 47, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x20, 0, 0, 0, 7, 0, 0, 0, //
    1, 0, 0, 0, 0, 0, 0, //
    2, 0, 0, 0, 0, 0, 3, 8, 1, 5, 16, 0xf0, //
    0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K', //
    0x20, 0x40, 0x34, 0x4a, b'S', b'F', b'C', b'K',
];

/// The code of both functions, at 0x1000: `call 0x1010`, and `push rbp`.
pub const CODE: [u8; 0x30] = {
    let mut code = [0x90; 0x30];
    [code[0], code[1], code[2], code[3], code[4]] = [0xe8, 0x0b, 0, 0, 0];
    code[0x10] = 0x55;
    code
};

/// The stack of the function at 0x1010.
pub const STACK: Range = Range::new(0x8000, 0x8010);

/// Reads the stack: the saved frame pointer of the function at 0x1010, and its return address.
pub fn read(address: u64) -> Option<u64> {
    let offset = usize::try_from(address.checked_sub(STACK.start)?).ok()?;
    [0, 0x1005].get(offset / 8).copied()
}

/// `.sframe` at 0x2000: an entry function at 0x1000; trap code at 0x1010, whose rows lead to what the processor has pushed; and at 0x1020
/// the handler that the trap code calls.
pub const TRAP_TABLE: [u8; 134] = [
    0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 3, 0, 0, 0, 3, 0, 0, 0, 58, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 7, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 20, 0, 0, 0, //
    1, 0, 0, 0, 0, 0, 0, //
    1, 0, 0x80, 1, 0, 0, 0x0d, 0x3b, 24, 0x3b, 0, 0x3b, 32, //
    1, 0, 0, 0, 0, 0, 3, 8, 0, 0, //
    0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K', //
    0x34, 0xde, 0x5d, 0xdb, b'S', b'F', b'C', b'K',
];

/// The same functions, but without rows for the trap code.
pub const BARE_TRAP_TABLE: [u8; 126] = [
    0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 3, 0, 0, 0, 2, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 7, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 12, 0, 0, 0, //
    1, 0, 0, 0, 0, 0, 0, //
    0, 0, 0x80, 0, 0, //
    1, 0, 0, 0, 0, 0, 3, 8, 0, 0, //
    0, 0, 0, 0, b'S', b'F', b'P', b'F', 0, 0x20, 0, 0, 0, 0, 0, 0, b'S', b'L', b'N', b'K', //
    0xc6, 0xe7, 0x47, 0x35, b'S', b'F', b'C', b'K',
];

/// The code of these functions, at 0x1000: in the trap code, `call 0x1020`.
pub const TRAP_CODE: [u8; 0x30] = {
    let mut code = [0x90; 0x30];
    [code[0x13], code[0x14], code[0x15], code[0x16], code[0x17]] = [0xe8, 8, 0, 0, 0];
    code
};

/// `.sframe` at 0x2000: an entry function of 16 bytes at 0x1000, and nothing else.
pub const ENTRY_TABLE: [u8; 52] = [
    0xe2, 0xde, 3, 5, 3, 0, 0xf8, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, //
    0xe4, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0, //
    1, 0, 0, 0, 0, 0, 0, 0,
];

/// A rule map at 0x2000 of the functions in [`TABLE`]: header, region, four rules, blocks, page, four changes, checksum.
pub const MAP: [u8; 148] = [
    0x55, 0x4d, 0x41, 0x50, 5, 3, 0, 1, 0x94, 0, 0, 0, //
    1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
    1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, //
    0, 0x20, 0, 0, 0, 0, 0, 0, //
    0, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, //
    0x60, 0x33, 2, 0, 0xff, 0xff, 0xfe, 0xff, //
    0x10, 0x11, 0, 0, 0, 0, 0, 0, //
    0x60, 3, 1, 0, 0xff, 0xff, 0, 0, //
    0, 0, 0, 0, 0, 0, 0, 0, //
    0, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, //
    4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, //
    0, 0, 0, 0, 4, 0, //
    0, 2, 0x10, 3, 0x11, 1, 0x30, 4, //
    0x57, 0x8, 0x74, 0x2e, //
];
