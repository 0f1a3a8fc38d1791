//! The constants of the SFrame format, for the reader in this crate and for writers.
//!
//! Names follow the SFrame specification (versions 1 to 3). Sizes are in bytes.

use bitflags::bitflags;

use crate::{code_checksums, stack_pointers};

/// The first two bytes of every section, in the section's own byte order (specification: `sfp_magic`).
pub const MAGIC: u16 = 0xdee2;

/// The size of preamble and header, without the auxiliary header that may follow.
pub const HEADER_SIZE: usize = 28;

/// The size of a function descriptor entry of version 1 (packed).
pub const FUNCTION_SIZE_V1: usize = 17;
/// The size of a function descriptor entry of version 2.
pub const FUNCTION_SIZE_V2: usize = 20;
/// The size of a function index entry of version 3.
pub const FUNCTION_SIZE_V3: usize = 16;
/// The size of the attribute record of version 3, which precedes a function's rows.
pub const ATTRIBUTE_SIZE: usize = 5;

/// The last four bytes of a table with a checksum: `SFCK`.
///
/// A checksum is an extension of this project. It is the last 8 bytes of the rows, which belong to no function, so that other readers never
/// read them: first the CRC-32 (polynomial 0xedb88320, as in zlib) of all bytes of the table before it, from the header on, then this magic,
/// both little-endian. The magic is last, so that nonzero bytes follow a table whose length was damaged.
///
/// The checksum is not in an auxiliary header, because readers that are proposed for Linux reject tables with such a header. It is not between
/// functions and rows, because glibc expects the rows immediately after the functions. Only tables of little-endian machines have a
/// checksum, because an objdump for little-endian machines rejects a big-endian table in which bytes among the rows belong to no function.
pub const CHECKSUM_MAGIC: u32 = 0x4b43_4653;
/// The size of a checksum and its magic.
pub const CHECKSUM_SIZE: usize = 8;

/// The magic of the address for which a table was linked, in tables that `sframe-link` writes.
///
/// The address precedes the checksum: 8 bytes for the address, then this magic, both little-endian. With the address, a moved image can find
/// out how far it was moved, because everything else in a table is relative.
pub const LINKED_MAGIC: u32 = 0x4b4e_4c53;
/// The size of the linked address and its magic.
pub const LINKED_SIZE: usize = 12;

/// The last four bytes of the list of unproven ranges: `SFPF`.
///
/// The list is an extension of this project. It precedes the linked address ([`LINKED_MAGIC`]) in tables that `sframe-link` writes. In a table
/// with this list, all rows are proven except the rows for code in the ranges. The list contains the ranges in ascending order of their start
/// ([`UNPROVEN_SIZE`] bytes each: 4 bytes for the start relative to the table's first byte, modulo 2^32, and 2 bytes for the size in bytes),
/// then the number of ranges (4 bytes), then this magic. In the highest byte of a size, [`IF_ENTERED`] is not part of the size. All fields are
/// little-endian.
///
/// A range also applies to code at a multiple of 4 GiB from it. So code that is far from the table and not listed can count as unproven, but
/// never the reverse.
pub const PROOF_MAGIC: u32 = 0x4650_4653;
/// A bit in the highest byte of the size of an unproven range: the rows, which describe trap code, are proven if the processor entered the function.
pub const IF_ENTERED: u8 = 1 << 7;
/// The last four bytes of the list of interrupted link registers: `SFLR`.
///
/// The list is an extension of this project, for AArch64: the rules of a row do not contain the link register, which a leaf that was interrupted
/// needs. It precedes the list of unproven ranges ([`PROOF_MAGIC`]). It contains ranges of trap code in ascending order of their address,
/// [`LINK_SIZE`] bytes each: 8 bytes for the start relative to the table's first byte, modulo 2^64, 4 bytes for the size in bytes, and 4 bytes for
/// the distance from the stack pointer to the word with the interrupted value of the link register in bytes, or [`LINK_IN_REGISTER`]; then the
/// number of ranges (4 bytes), then this magic. All fields are little-endian.
pub const LINK_MAGIC: u32 = 0x524c_4653;
/// A value instead of a distance: the link register still has the interrupted value.
pub const LINK_IN_REGISTER: u32 = u32::MAX;
/// The size of one range in the list of interrupted link registers.
pub const LINK_SIZE: usize = 16;
/// The size of the list of interrupted link registers without the ranges.
pub const LINKS_SIZE: usize = 8;
/// The last four bytes of the list of stack pointers: `SFSP`.
///
/// The list is an extension of this project, for stacks that no kernel declares: in code without a caller that has loaded a constant into the stack
/// pointer, the stack is empty if the stack pointer has the value that the list contains. The list precedes the list of interrupted link registers
/// ([`LINK_MAGIC`]). It contains ranges of code in ascending order of their address, [`STACK_POINTER_SIZE`] bytes each: 8 bytes for the start
/// relative to the table's first byte, modulo 2^64, 4 bytes for the size in bytes, and 8 bytes for the stack pointer before each instruction of
/// the range, relative to the table's first byte, modulo 2^64; then the number of ranges (4 bytes), then this magic. All fields have the byte
/// order of the machine.
pub const STACK_POINTER_MAGIC: u32 = stack_pointers::STACK_POINTER_MAGIC;
/// The size of one range in the list of stack pointers.
pub const STACK_POINTER_SIZE: usize = stack_pointers::STACK_POINTER_SIZE;
/// The size of the list of stack pointers without the ranges.
pub const STACK_POINTERS_SIZE: usize = 8;
/// The last four bytes of the list of code checksums: `SFCD`.
///
/// The list is an extension of this project. It is between the list of unproven ranges and the linked address ([`LINKED_MAGIC`]). It contains
/// ranges of code in ascending order of their address, [`CODE_CHECKSUM_SIZE`] bytes each: 8 bytes for the start relative to the table's first
/// byte, modulo 2^64, 4 bytes for the size in bytes, and the CRC-32 of the bytes; then the number of ranges (4 bytes), then this
/// magic. All fields have the byte order of the machine. Code outside of the ranges may differ from the code that was linked.
pub const CODE_MAGIC: u32 = code_checksums::CODE_MAGIC;
/// The size of one range in the list of code checksums.
pub const CODE_CHECKSUM_SIZE: usize = code_checksums::CODE_CHECKSUM_SIZE;
/// The size of the list of code checksums without the ranges.
pub const CODE_CHECKSUMS_SIZE: usize = 8;

/// The size of one range in the list of unproven ranges.
pub const UNPROVEN_SIZE: usize = 6;
/// The size of the list of unproven ranges without the ranges.
pub const PROOF_SIZE: usize = 8;

/// The number of bytes that a writer subtracts from the CFA's offset on s390x, before it divides by [`S390X_CFA_SCALE`].
pub const S390X_CFA_ADJUSTMENT: i64 = crate::s390x::SAVE_AREA.cast_signed();
/// The number by which a writer divides the CFA's offset on s390x, after it subtracts [`S390X_CFA_ADJUSTMENT`].
pub const S390X_CFA_SCALE: i64 = 8;

/// The fixed offset of the return address from the CFA in the header on AMD64, in bytes.
pub const AMD64_RETURN_ADDRESS_OFFSET: i8 = -8;

bitflags! {
    /// The flags of a section: `sfp_flags`, byte 3 of the header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flags: u8 {
        /// The functions are in ascending order of their start address.
        const SORTED = 1;
        /// Every function has a frame pointer (versions 1 and 2 only). This changes no row, and a walk does not use it, because a walk tries the
        /// frame pointer if a row is missing.
        const FRAME_POINTER = 2;
        /// A function's start is relative to the address of the field that contains it (version 2 errata 1, version 3).
        const START_PC_RELATIVE = 4;
    }
}

/// The mask of the start width in `func_info`: the width of the rows' start offsets, as a power of two (0, 1, 2 for 1, 2, 4 bytes).
pub const INFO_START_WIDTH: u8 = 0x0f;
/// A bit of `func_info`: the rows describe a block that is repeated through the function (PC-mask).
pub const INFO_PC_MASK: u8 = 1 << 4;
/// A bit of `func_info`: return addresses are signed with key B (AArch64), not key A.
pub const INFO_PAUTH_KEY_B: u8 = 1 << 5;
/// A bit of `func_info`: the function is signal or trap code (version 3).
pub const INFO_SIGNAL: u8 = 1 << 7;

/// The mask of the kind of a function's rows in `func_info2` (version 3).
pub const INFO2_KIND: u8 = 0x1f;
/// The kind of a function whose words follow the rules of its ABI.
pub const KIND_DEFAULT: u8 = 0;
/// The kind of a function whose words are pairs of control word and offset.
pub const KIND_FLEXIBLE: u8 = 1;

/// A bit of a row's info byte: the base of the CFA is SP, not FP.
pub const ROW_CFA_SP: u8 = 1;
/// The shift of the number of words in a row's info byte (4 bits).
pub const ROW_COUNT_SHIFT: u32 = 1;
/// The mask of the number of words, after the shift.
pub const ROW_COUNT: u8 = 0x0f;
/// The shift of the words' width code in a row's info byte (2 bits; 0, 1, 2 for 1, 2, 4 bytes; 3 is invalid).
pub const ROW_WIDTH_SHIFT: u32 = 5;
/// The mask of the width code, after the shift.
pub const ROW_WIDTH: u8 = 3;
/// A bit of a row's info byte: the return address contains a pointer authentication code (AArch64).
pub const ROW_RETURN_ADDRESS_SIGNED: u8 = 1 << 7;

/// A bit of a flexible control word: the base is the DWARF register in the bits from 3 on, not the CFA.
pub const CONTROL_REGISTER: u32 = 1;
/// A bit of a flexible control word: the value is the 8-byte word at base + offset, not base + offset itself.
pub const CONTROL_DEREFERENCE: u32 = 2;
/// The shift of the DWARF register number in a flexible control word.
pub const CONTROL_REGISTER_SHIFT: u32 = 3;
