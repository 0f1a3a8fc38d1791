//! Functions that take or return what has no name (`impl Iterator`), each used with all that can be done to it. `build.rs`
//! asks for each of them by its name.

use core::hint::black_box;

use unwind::ehabi::Opcodes;
use unwind::sframe::Tables;
use unwind::symbols::{self, Answer};
use unwind::{ArmTables, ImageTables};

pub fn sections(tables: &Tables<'_>) {
    for section in tables.sections() {
        black_box(section.is_ok());
    }
}

pub fn functions(tables: &ImageTables<'_>) {
    for function in tables.functions() {
        black_box(function.start);
    }
}

pub fn checked_code(image: &ImageTables<'_>, arm: &ArmTables<'_>) {
    for code in image.checked_code().chain(arm.checked_code()) {
        black_box(code.start);
    }
}

pub fn bytes(opcodes: &Opcodes<'_>) -> u32 {
    opcodes.bytes().map(u32::from).fold(0, u32::wrapping_add)
}

pub fn frames(answer: &Answer<'_, '_>) {
    for frame in answer.frames().chain(answer.frames().rev()) {
        black_box(frame.place());
    }
}

pub fn are_of_one_function(one: &[u8], other: &[u8]) -> bool {
    symbols::are_of_one_function(one.iter().copied(), other.iter().copied())
}

/// The counterproof.
#[cfg(feature = "panics")]
pub fn panics(words: &[u64], index: usize) -> u64 {
    words[index]
}
