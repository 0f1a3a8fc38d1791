//! Makes unwind tables and symbol tables for an image that is already linked, and checks them.
//!
//! Compilers emit `.eh_frame`, which describes every instruction, but needs a DWARF interpreter to read. This crate
//! interprets it once, on the host, and stores the result: `.sframe` (rows that lead from a function to its caller) and
//! `.symbols` (names and lines). Both have formats that the crate `unwind` reads on the target.
//!
//! | module | content |
//! |---|---|
//! | [`image`] | opens an ELF file |
//! | [`compressed`] | decompresses sections |
//! | [`relocatable`] | gives an object file addresses, so that it can be opened like a linked one |
//! | [`cfi`] | converts `.eh_frame` to [`function::Function`]s with rows |
//! | [`prove`] | follows the code of each function, and corrects rows |
//! | [`sframe`] | encodes functions as an SFrame section, and compares the two |
//! | [`map`] | encodes functions as a rule map, and compares it with `.sframe` |
//! | [`symbols`] | reads names, and encodes them as `.symbols` |
//! | [`covered`] | how much of the code has rows |
//! | [`derived`] | rows from the states of the checker, for code without accepted rows |
//! | [`outermost`] | functions that have no caller |
//! | [`link`] | the linker wrapper: link, make the tables, link again, check |
//! | [`gsym`] | names and lines as GSYM, for LLVM's tools on the host |
//! | [`symt`] | names and lines as SYMT, for libdragon |
//! | [`make`] | adds tables to a file that is already linked |
//! | [`inspect`] | output of the program `sframe` |
//! | [`whole`] | writes files completely or not at all |

pub mod architecture;
pub mod cfi;
pub mod checked;
mod class;
pub mod code_checksums;
pub mod code_values;
pub mod compressed;
mod counted;
pub mod covered;
pub mod derived;
pub mod function;
pub mod gsym;
pub mod image;
pub mod inspect;
pub mod link;
pub mod links;
mod loaders;
pub mod make;
pub mod map;
mod mapping;
mod os_text;
pub mod outermost;
mod parallel;
mod progress;
pub mod prove;
pub mod reason;
pub mod relocatable;
pub mod settled;
pub mod sframe;
pub mod stack_pointers;
pub mod symbols;
pub mod symt;
pub mod unproven;
pub mod whole;
