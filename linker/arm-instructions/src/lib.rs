//! Decodes A32 and T32 instructions as far as they change registers, memory and control flow. Both the search for unwind rows and the
//! checker of rows use this crate, so that each encoding has one reading.
//!
//! ```
//! use arm_instructions::{ALWAYS, LR, Op, PC, SP, decode_a32};
//!
//! // push {r4, lr}
//! let decoded = decode_a32(0xe92d_4010, 0).unwrap();
//! assert_eq!((decoded.length, decoded.condition), (4, ALWAYS));
//! let Op::Multiple { loads: false, base: SP, registers, .. } = decoded.op else { panic!() };
//! assert_eq!(registers, 1 << 4 | 1 << LR);
//! assert_eq!(registers >> PC, 0);
//! ```
//!
//! Manual: Arm Architecture Reference Manual for ARMv7-A and ARMv7-R (DDI 0406). An encoding that the manual leaves undefined, or that few
//! programs contain, decodes to `None`, so that a caller makes no statement about its function.

mod a32;
mod bits;
mod coprocessor;
mod op;
mod t16;
mod t32;

pub use a32::decode as decode_a32;
pub use op::{ALWAYS, Decoded, Indexing, LR, Op, PC, Place, Register, SP, Source};
pub use t32::{decode as decode_t32, length as t32_length};
