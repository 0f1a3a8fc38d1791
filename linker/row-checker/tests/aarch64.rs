//! The decoder of A64 instructions, compared with llvm-objdump, with an emulator, with the manual, and with what compilers make of `switch`.

#[path = "aarch64/effects.rs"]
mod effects;
#[path = "aarch64/executed.rs"]
mod executed;
#[path = "aarch64/inputs.rs"]
mod inputs;
#[path = "aarch64/objdump.rs"]
mod objdump;
#[path = "aarch64/switches.rs"]
mod switches;
#[path = "aarch64/text.rs"]
mod text;
#[path = "aarch64/unlisted.rs"]
mod unlisted;
