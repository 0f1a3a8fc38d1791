//! What the code itself says about its stack: for every instruction where the caller's frame begins, and where return
//! address and frame pointer are, found by following each function's instructions from its entry.
//!
//! Compilers describe that in call frame information, and are wrong in places. What is found here is proven, under the
//! assumptions that `PROOF.md` lists; where it cannot be found, the reason is kept, and nothing is said.

pub mod aarch64;
pub mod isa;
pub mod machine;
pub mod reason;
pub mod table;
pub mod value;
pub mod x86_64;
