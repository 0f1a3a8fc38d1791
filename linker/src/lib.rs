//! Makes unwind tables and symbol tables for an image that is already linked, and checks them.
//!
//! Compilers emit `.eh_frame`, which describes every instruction, but needs a DWARF interpreter to read. This crate
//! interprets it once, on the host, and writes down the result: `.sframe` (how to get from a function to its caller) and
//! `.symbols` (what a function is called), both in the formats of the crate `unwind`, which reads them on the target.
//!
//! | module | does |
//! |---|---|
//! | [`image`] | opens an ELF file |
//! | [`compressed`] | sections that are compressed |
//! | [`relocatable`] | gives an object file addresses, so that it can be opened like a linked one |
//! | [`cfi`] | `.eh_frame` to [`function::Function`]s with rows |
//! | [`prove`] | follows each function's code, and corrects rows by it |
//! | [`sframe`] | functions to the bytes of an SFrame section, and the comparison of the two |
//! | [`map`] | the same functions to the bytes of a rule map, and the comparison with `.sframe` |
//! | [`symbols`] | `.symtab` to names, and to the bytes of a `.symbols` blob |
//! | [`covered`] | how much of the code has rows |
//! | [`derived`] | rows from the states of the checker, for code without accepted rows |
//! | [`outermost`] | functions that have no caller |
//! | [`link`] | the linker wrapper: link, make the tables, link again, check |
//! | [`gsym`] | the same as `.symbols`, for LLVM's tools on the host |
//! | [`symt`] | the same for libdragon, as far as its format has room |
//! | [`make`] | tables added to a file that is linked already |
//! | [`inspect`] | what the program `sframe` prints |
//! | [`whole`] | files that are written whole or not at all |

pub mod architecture;
pub mod cfi;
pub mod checked;
mod class;
pub mod code_checksums;
pub mod code_values;
pub mod compressed;
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
