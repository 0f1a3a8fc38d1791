//! The readers that are compared. Each answers the same question from the same functions: how does the frame at this
//! address get to its caller?

pub mod dwarf;
pub mod frame_pointer;
pub mod framehop;
pub mod orc;
pub mod sframe;
pub mod simple_frame;

/// A program counter, a stack pointer and a frame pointer.
pub type Registers = (u64, u64, u64);

/// An answer to a look-up, in the words of the sample: `None` where there is no function, `Some(None)` where there is no
/// caller.
pub type Answer = Option<Option<crate::common::shape::Rules>>;
