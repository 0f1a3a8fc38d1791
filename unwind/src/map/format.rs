//! The constants of the format, for the reader in this crate and for the writer. `FORMAT.md` says what each of them is for.

use crate::rules;

/// The first four bytes, as a number in the map's byte order: `UMAP` in a little-endian one.
pub const MAGIC: u32 = 0x5041_4d55;
/// The version of the format: a reader refuses every other one.
pub const VERSION: u8 = 4;
/// Bytes of the header.
pub const HEADER_SIZE: usize = 48;
/// Bytes of the checksum, which are the map's last.
pub const CHECKSUM_SIZE: usize = 4;

/// Bytes of a region's entry.
pub const REGION_SIZE: usize = 16;
/// The greatest number of regions: a look-up compares with all of them.
pub const MAX_REGIONS: u32 = 16;
/// Bytes of a rule.
pub const RULE_SIZE: usize = 8;
/// Bytes of a long rule.
pub const LONG_RULE_SIZE: usize = 24;
/// Bytes of an exception.
pub const EXCEPTION_SIZE: usize = 8;
/// Bytes of a page's entry.
pub const PAGE_SIZE: usize = 6;
/// Bytes of what a page says of its blocks.
pub const BLOCKS_SIZE: usize = 34;
/// Bytes of a change.
pub const CHANGE_SIZE: usize = 2;

/// Units of code in a block.
pub const BLOCK: u64 = 256;
/// Blocks in a page.
pub const BLOCKS: u64 = 16;
/// Units of code in a page.
pub const PAGE: u64 = BLOCK * BLOCKS;
/// The greatest number of changes from one function's start to the next one's: a look-up reads at most as many to each side.
pub const MAX_CHANGES: usize = 1 << 16;

/// How many rules a byte names, with the codes from 1 on. The codes 0 and 255 name exceptions.
pub const CODES: usize = 254;
/// The code of an exception that begins no function.
pub const EXCEPTION: u8 = 0;
/// The code of an exception that begins a function.
pub const EXCEPTION_BEGINS: u8 = 255;

/// Bit of a rule's first number: the registers and offsets are in a long rule, not in the numbers that follow.
pub const LONG: u16 = 1;
/// Bit of a rule's first number: the return address is signed.
pub const SIGNED: u16 = 1 << 1;
/// Bit of a rule's first number: the function is trap or signal code.
pub const SIGNAL: u16 = 1 << 2;
/// Bit of a rule's first number: the rule is unproven.
pub const UNPROVEN: u16 = 1 << 3;
/// Bit of the header's flags: the map contains a proof, so that all rules without [`UNPROVEN`] are proven.
pub const PROVEN: u32 = 1;
/// Bit of the header's flags: before its checksum the map contains the list of code checksums, as [`CODE_MAGIC`] describes it.
///
/// [`CODE_MAGIC`]: crate::sframe::format::CODE_MAGIC
pub const CODE_CHECKSUMS: u32 = 2;
/// Bit of the header's flags: before its code checksums the map contains the list of stack pointers, as [`STACK_POINTER_MAGIC`] describes it.
///
/// [`STACK_POINTER_MAGIC`]: crate::sframe::format::STACK_POINTER_MAGIC
pub const STACK_POINTERS: u32 = 4;
/// Shifts of the codes for the canonical frame address, the return address and the frame pointer, which have four bits each.
pub const SHIFTS: [u32; 3] = [4, 8, 12];
/// The three codes of a row that says that there is no caller.
pub const NO_CALLER: u16 = 0x111;
/// The three codes where there is no function.
pub const NO_FUNCTION: u16 = 0;
/// The three codes of a function that has no rows.
pub const NO_ROWS: u16 = 0x110;
/// Offsets in rules that are not long are divided by this: the bytes of a word.
pub const SCALE: i64 = 8;
/// The same in a map for 32-bit ARM.
pub const ARM_SCALE: i64 = 4;

/// The header's ABI number of 32-bit ARM, little-endian, for which SFrame has none.
pub const ARM: u8 = 128;
/// Bytes that a map for 32-bit ARM has more for each rule: where the caller's `r4` to `r10` are, as in [`Kept`](crate::Kept), and 0.
pub const KEPT_SIZE: usize = 8;

/// Code, bits 0 and 1: the value is still in its register.
pub const SAME: u8 = rules::SAME;
/// Code, bits 0 and 1: there is no value.
pub const UNDEFINED: u8 = rules::UNDEFINED;
/// Code, bits 0 and 1: the value is base and offset.
pub const VALUE: u8 = rules::VALUE;
/// Code, bits 0 and 1: the value is the word at base and offset.
pub const SAVED: u8 = rules::SAVED;
/// Code, bits 2 and 3: the base is the canonical frame address.
pub const FROM_CFA: u8 = rules::CFA << 2;
/// Code, bits 2 and 3: the base is the stack pointer.
pub const FROM_STACK_POINTER: u8 = rules::STACK_POINTER << 2;
/// Code, bits 2 and 3: the base is the frame pointer.
pub const FROM_FRAME_POINTER: u8 = rules::FRAME_POINTER << 2;
/// Code, bits 2 and 3: the base is another register. Only in long rules.
pub const FROM_REGISTER: u8 = rules::REGISTER << 2;
