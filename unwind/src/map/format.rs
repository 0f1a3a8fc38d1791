//! The format of rule maps, and its constants, for the reader in this crate and for the writer. Sizes are in bytes.
#![doc = include_str!("FORMAT.md")]

use crate::rules;

/// The first four bytes, as a number in the map's byte order: `UMAP` in a little-endian map.
pub const MAGIC: u32 = 0x5041_4d55;
/// The version of the format. A reader rejects every other version.
pub const VERSION: u8 = 5;
/// The size of the header.
pub const HEADER_SIZE: usize = 48;
/// The size of the checksum at the end of the map.
pub const CHECKSUM_SIZE: usize = 4;

/// The size of a region's entry.
pub const REGION_SIZE: usize = 16;
/// The maximum number of regions. A look-up compares an address with all of them.
pub const MAX_REGIONS: u32 = 16;
/// The size of a rule.
pub const RULE_SIZE: usize = 8;
/// The size of a long rule.
pub const LONG_RULE_SIZE: usize = 24;
/// The size of an exception.
pub const EXCEPTION_SIZE: usize = 8;
/// The size of a page's entry.
pub const PAGE_SIZE: usize = 6;
/// The size of a page's counts of changes for its blocks.
pub const BLOCKS_SIZE: usize = 34;
/// The size of a change.
pub const CHANGE_SIZE: usize = 2;

/// The number of units of code in a block.
pub const BLOCK: u64 = 256;
/// The number of blocks in a page.
pub const BLOCKS: u64 = 16;
/// The number of units of code in a page.
pub const PAGE: u64 = BLOCK * BLOCKS;
/// The limit of changes from a function's start to the next function's start. A look-up reads at most this number to each side.
pub const MAX_CHANGES: usize = 1 << 16;

/// The number of rules that a code of one byte can select, with the codes from 1 on. The codes 0 and 255 select exceptions.
pub const CODES: usize = 254;
/// The code of an exception that does not begin a function.
pub const EXCEPTION: u8 = 0;
/// The code of an exception that begins a function.
pub const EXCEPTION_BEGINS: u8 = 255;

/// A bit of a rule's first number: the registers and offsets are in a long rule, not in the numbers that follow.
pub const LONG: u16 = 1;
/// A bit of a rule's first number: the return address is signed. Trap and signal code has no signed return addresses, so that in its rules
/// this bit is [`IF_ENTERED`].
pub const SIGNED: u16 = 1 << 1;
/// A bit of a rule's first number: the function is trap or signal code.
pub const SIGNAL: u16 = 1 << 2;
/// A bit of a rule's first number: the rule is unproven.
pub const UNPROVEN: u16 = 1 << 3;
/// A bit of the first number of an [`UNPROVEN`] rule of trap or signal code: the rule is proven if the processor entered the function.
pub const IF_ENTERED: u16 = SIGNED;
/// A bit of the header's flags: the map contains a proof, so that all rules without [`UNPROVEN`] are proven.
pub const PROVEN: u32 = 1;
/// A bit of the header's flags: before its checksum the map contains the list of code checksums, as [`CODE_MAGIC`] describes it.
///
/// [`CODE_MAGIC`]: crate::sframe::format::CODE_MAGIC
pub const CODE_CHECKSUMS: u32 = 2;
/// A bit of the header's flags: before its code checksums the map contains the list of stack pointers, as [`STACK_POINTER_MAGIC`] describes it.
///
/// [`STACK_POINTER_MAGIC`]: crate::sframe::format::STACK_POINTER_MAGIC
pub const STACK_POINTERS: u32 = 4;
/// The shifts of the codes for the canonical frame address, the return address and the frame pointer, which have four bits each.
pub const SHIFTS: [u32; 3] = [4, 8, 12];
/// The three codes of a row of a function without a caller.
pub const NO_CALLER: u16 = 0x111;
/// The three codes for code without a function.
pub const NO_FUNCTION: u16 = 0;
/// The three codes of no rows for this function.
pub const NO_ROWS: u16 = 0x110;
/// The number by which offsets in short rules are divided: the size of a word.
pub const SCALE: i64 = 8;
/// The number by which offsets in short rules are divided in a map for 32-bit ARM.
pub const ARM_SCALE: i64 = 4;

/// The ABI number of 32-bit ARM, little-endian. SFrame has no number for this ABI.
pub const ARM: u8 = 128;
/// The size of the entry for kept registers, which a map for 32-bit ARM has for each rule: the seven bytes of [`Kept`](crate::Kept), and 0.
pub const KEPT_SIZE: usize = 8;

/// A code's kind, in bits 0 and 1: the value is still in its register.
pub const SAME: u8 = rules::SAME;
/// A code's kind, in bits 0 and 1: there is no value.
pub const UNDEFINED: u8 = rules::UNDEFINED;
/// A code's kind, in bits 0 and 1: the value is base + offset.
pub const VALUE: u8 = rules::VALUE;
/// A code's kind, in bits 0 and 1: the value is the word at base + offset.
pub const SAVED: u8 = rules::SAVED;
/// A code's base, in bits 2 and 3: the canonical frame address.
pub const FROM_CFA: u8 = rules::CFA << 2;
/// A code's base, in bits 2 and 3: the stack pointer.
pub const FROM_STACK_POINTER: u8 = rules::STACK_POINTER << 2;
/// A code's base, in bits 2 and 3: the frame pointer.
pub const FROM_FRAME_POINTER: u8 = rules::FRAME_POINTER << 2;
/// A code's base, in bits 2 and 3: another register. Only in long rules.
pub const FROM_REGISTER: u8 = rules::REGISTER << 2;
