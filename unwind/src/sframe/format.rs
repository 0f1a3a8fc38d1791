//! The constants of the SFrame format, for the reader in this crate and for writers.
//!
//! Names follow the SFrame specification (versions 1 to 3); a comment gives the unit and where a field lies.

use bitflags::bitflags;

use crate::{code_checksums, stack_pointers};

/// First two bytes of every section, in the section's own byte order (specification: `sfp_magic`).
pub const MAGIC: u16 = 0xdee2;

/// Bytes of preamble and header, without the auxiliary header that may follow.
pub const HEADER_SIZE: usize = 28;

/// Bytes of one function descriptor of version 1 (packed).
pub const FUNCTION_SIZE_V1: usize = 17;
/// Bytes of one function descriptor of version 2.
pub const FUNCTION_SIZE_V2: usize = 20;
/// Bytes of one function index entry of version 3.
pub const FUNCTION_SIZE_V3: usize = 16;
/// Bytes of the attribute record of version 3, which stands right before a function's rows.
pub const ATTRIBUTE_SIZE: usize = 5;

/// Last four bytes of a table with a checksum: `SFCK`.
///
/// A checksum is an extension of this project: the last 8 bytes of the rows of a little-endian machine's table, which belong to
/// no function, so that readers that do not know it never look at them. First the CRC-32 (polynomial 0xedb88320, as in zlib) of
/// all bytes of the table before it, from the header on, then this magic, both little-endian. The magic is last, so that after
/// a table whose length was damaged there are bytes that are not zero.
///
/// Other places for it were rejected: readers that are proposed for Linux refuse a table with an auxiliary header, and glibc
/// takes the rows to follow the functions directly. A table of a big-endian machine has none: the objdump of a little-endian
/// one refuses it when bytes among its rows belong to no function.
pub const CHECKSUM_MAGIC: u32 = 0x4b43_4653;
/// Bytes of a checksum and its magic.
pub const CHECKSUM_SIZE: usize = 8;

/// Marks the address that a table was written for, in tables that `linker` writes, right before the checksum: the address, with 64
/// bits, then this magic, both little-endian. Only by it an image that was moved can tell how far: all else in a table is relative.
pub const LINKED_MAGIC: u32 = 0x4b4e_4c53;
/// Bytes of that address and its magic.
pub const LINKED_SIZE: usize = 12;

/// Last four bytes of the list of unproven ranges: `SFPF`.
///
/// The list is an extension of this project. It precedes the linked address ([`LINKED_MAGIC`]) in tables that `linker` writes. In a table
/// with this list, all rows are proven except the rows for code in the ranges. The list contains the ranges in ascending order of their start
/// ([`UNPROVEN_SIZE`] bytes each: 4 bytes for the start relative to the table's first byte, modulo 2^32, and 2 bytes for the size in bytes),
/// then the number of ranges (4 bytes), then this magic. In the highest byte of a size, [`IF_ENTERED`] is no part of the size. All fields are
/// little-endian. A range also applies to code at a multiple of
/// 4 GiB from it, so that code which is far from the table, and not listed, can count as unproven, but never the reverse.
pub const PROOF_MAGIC: u32 = 0x4650_4653;
/// In the highest byte of the size of an unproven range: its rows, which are those of trap code, are proven if the processor entered the function.
pub const IF_ENTERED: u8 = 1 << 7;
/// Last four bytes of the list of interrupted link registers: `SFLR`.
///
/// The list is an extension of this project, for AArch64: the rules of a row do not contain the link register, which a leaf that was interrupted
/// needs. It precedes the list of unproven ranges ([`PROOF_MAGIC`]). It contains ranges of trap code in ascending order of their address,
/// [`LINK_SIZE`] bytes each: 8 bytes for the start relative to the table's first byte, modulo 2^64, 4 bytes for the size in bytes, and 4 bytes for
/// the distance from the stack pointer to the word with the interrupted value of the link register in bytes, or [`LINK_IN_REGISTER`]; then the
/// number of ranges (4 bytes), then this magic. All fields are little-endian.
pub const LINK_MAGIC: u32 = 0x524c_4653;
/// In the place of a distance: the link register still has the interrupted value.
pub const LINK_IN_REGISTER: u32 = u32::MAX;
/// Size of one range in the list of interrupted link registers, in bytes.
pub const LINK_SIZE: usize = 16;
/// Size of the list of interrupted link registers without the ranges, in bytes.
pub const LINKS_SIZE: usize = 8;
/// Last four bytes of the list of stack pointers: `SFSP`.
///
/// The list is an extension of this project, for stacks that no kernel declares: in code without a caller that has loaded a constant into the stack
/// pointer, the stack is empty if the stack pointer has the value that the list contains. The list precedes the list of interrupted link registers
/// ([`LINK_MAGIC`]). It contains ranges of code in ascending order of their address, [`STACK_POINTER_SIZE`] bytes each: 8 bytes for the start
/// relative to the table's first byte, modulo 2^64, 4 bytes for the size in bytes, and 8 bytes for the stack pointer before each instruction of
/// the range, relative to the table's first byte, modulo 2^64; then the number of ranges (4 bytes), then this magic. All fields have the byte
/// order of the machine.
pub const STACK_POINTER_MAGIC: u32 = stack_pointers::STACK_POINTER_MAGIC;
/// Size of one range in the list of stack pointers, in bytes.
pub const STACK_POINTER_SIZE: usize = stack_pointers::STACK_POINTER_SIZE;
/// Size of the list of stack pointers without the ranges, in bytes.
pub const STACK_POINTERS_SIZE: usize = 8;
/// Last four bytes of the list of code checksums: `SFCD`.
///
/// The list is an extension of this project. It precedes the linked address ([`LINKED_MAGIC`]), behind the list of unproven ranges. It contains
/// ranges of code in ascending order of their address, [`CODE_CHECKSUM_SIZE`] bytes each: 8 bytes for the start relative to the table's first
/// byte, modulo 2^64, 4 bytes for the size in bytes, and the CRC-32 of the bytes; then the number of ranges (4 bytes), then this
/// magic. All fields have the byte order of the machine. Code outside of the ranges may differ from the code that was linked.
pub const CODE_MAGIC: u32 = code_checksums::CODE_MAGIC;
/// Size of one range in the list of code checksums, in bytes.
pub const CODE_CHECKSUM_SIZE: usize = code_checksums::CODE_CHECKSUM_SIZE;
/// Size of the list of code checksums without the ranges, in bytes.
pub const CODE_CHECKSUMS_SIZE: usize = 8;

/// Size of one range in the list of unproven ranges, in bytes.
pub const UNPROVEN_SIZE: usize = 6;
/// Size of the list of unproven ranges without the ranges, in bytes.
pub const PROOF_SIZE: usize = 8;

/// On s390x the CFA's offset is stored less this many bytes,
pub const S390X_CFA_ADJUSTMENT: i64 = crate::s390x::SAVE_AREA.cast_signed();
/// divided by this number.
pub const S390X_CFA_SCALE: i64 = 8;

/// Offset from the CFA, in bytes, of the return address on AMD64: the header's fixed value.
pub const AMD64_RETURN_ADDRESS_OFFSET: i8 = -8;

bitflags! {
    /// `sfp_flags`, byte 3 of the header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u8 {
        /// The functions are in ascending order of their start address.
        const SORTED = 1;
        /// Every function keeps a frame pointer (versions 1 and 2 only): for who walks by that alone. It changes no row, and a
        /// walk does not need it, because it tries the frame pointer wherever a row is missing.
        const FRAME_POINTER = 2;
        /// A function's start is relative to the address of the field that holds it (version 2 errata 1, version 3).
        const START_PC_RELATIVE = 4;
    }
}

/// Low four bits of `func_info`: the width of the rows' start offsets, as a power of two (0, 1, 2 are 1, 2, 4 bytes).
pub const INFO_START_WIDTH: u8 = 0x0f;
/// Bit of `func_info`: the rows describe a block that is repeated through the function (PC-mask).
pub const INFO_PC_MASK: u8 = 1 << 4;
/// Bit of `func_info`: return addresses are signed with key B (AArch64), not key A.
pub const INFO_PAUTH_KEY_B: u8 = 1 << 5;
/// Bit of `func_info`: a signal or trap frame (version 3).
pub const INFO_SIGNAL: u8 = 1 << 7;

/// Low five bits of `func_info2` (version 3): the kind of a function's rows.
pub const INFO2_KIND: u8 = 0x1f;
/// `INFO2_KIND` of a function whose words follow the rules of its ABI.
pub const KIND_DEFAULT: u8 = 0;
/// `INFO2_KIND` of a function whose words are pairs of control word and offset.
pub const KIND_FLEXIBLE: u8 = 1;

/// Bit of a row's info byte: the CFA is based on SP, not on FP.
pub const ROW_CFA_SP: u8 = 1;
/// Shift of the row's word count (4 bits).
pub const ROW_COUNT_SHIFT: u32 = 1;
/// Mask of the row's word count, after the shift.
pub const ROW_COUNT: u8 = 0x0f;
/// Shift of the words' width code (2 bits; 0, 1, 2 are 1, 2, 4 bytes, 3 is invalid).
pub const ROW_WIDTH_SHIFT: u32 = 5;
/// Mask of the width code, after the shift.
pub const ROW_WIDTH: u8 = 3;
/// Bit of a row's info byte: the return address carries a pointer authentication code (AArch64).
pub const ROW_RETURN_ADDRESS_SIGNED: u8 = 1 << 7;

/// Bit of a flexible control word: the base is the DWARF register in the bits from 3 on, not the CFA.
pub const CONTROL_REGISTER: u32 = 1;
/// Bit of a flexible control word: the value is the 8-byte word at base + offset, not base + offset itself.
pub const CONTROL_DEREFERENCE: u32 = 2;
/// Shift of the DWARF register number in a flexible control word.
pub const CONTROL_REGISTER_SHIFT: u32 = 3;
