//! Tables of real programs against gimli's reading of `.eh_frame`.
//!
//! SFrame and `.eh_frame` say the same in other words, so the rules are compared by what they do: both are carried out
//! on a machine that has another number in every register and every word.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod compare;
mod converted;
mod dwarf;
mod llvm;
mod machine;
