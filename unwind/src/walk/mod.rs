//! Walking a stack, frame by frame, outwards.
//!
//! ```text
//! frames      the iterator: calls the parts below, and is the only part that changes anything
//!  ├─ step         the caller, with a row          ┐
//!  ├─ interrupted  the interrupted frame           │ cursor, row, memory ─► step, or why there is none
//!  ├─ fallback     the caller, without a row       │
//!  ├─ scan         the next possible return address┘
//!  └─ call         the check of a return address with the code; tail_call: calls that lead there by jumps
//! ```

mod call;
mod cursor;
mod fallback;
mod frame;
mod frames;
mod interrupted;
mod scan;
mod step;
mod tail_call;
#[cfg(test)]
mod tests;
mod unwinder;

pub use fallback::Fallbacks;
pub use frame::{Frame, FrameKind, SavedRegister};
pub use frames::Frames;
pub use unwinder::Unwinder;
