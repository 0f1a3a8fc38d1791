//! SYMT, libdragon's symbol file for the Nintendo 64: names, files and lines of functions' starts and of calls.
//!
//! Its own tool, `n64sym`, writes it, and the console reads it in place. Version 2, all numbers big-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `SYMT` |
//! | 4 | version |
//! | 3 × 8 | offset in the file, and number of entries, of the addresses, of the symbols, and of the text, whose entries are bytes |
//!
//! Each table begins at a multiple of 16. An address has 4 bytes: bit 0 says that it is a function's start; bit 1 that the next entry is of the
//! same instruction, inside of which this one is inlined; without them it is a multiple of 4. They ascend. The symbol with the same number has 16 bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 2 × 4 | offsets in the text, of the function's name and of the file's |
//! | 2 × 2 | their lengths, in bytes |
//! | 2 | line; 0 if it is not known, or has no room |
//! | 2 | offset of the address in its function; 0 if it has no room |
//!
//! Source: libdragon, `src/backtrace.c` (`symtable_header_t`, `symtable_entry_t`) and what `tools/n64sym.c` writes.

mod read;
mod write;

pub use read::{Found, Place, Table};
pub use write::symt;

const MAGIC: [u8; 4] = *b"SYMT";
const VERSION: u32 = 2;
/// Bytes of the header.
const HEADER: usize = 32;
/// Bytes of a symbol.
const SYMBOL: usize = 16;
/// What each table begins at a multiple of.
const ALIGNMENT: usize = 16;

/// The address is a function's start.
const IS_START: u32 = 1;
/// The next entry is of the same instruction.
const HAS_MORE: u32 = 2;

/// The file's form of an address: 32 bits, which a 64-bit CPU extends by zeros or, as MIPS does, by the sign.
fn short(address: u64) -> Option<u32> {
    let low = address as u32;
    let extended = i64::from(low as i32) as u64;
    (address == u64::from(low) || address == extended).then_some(low)
}
