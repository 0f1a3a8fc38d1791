//! Walking a stack, frame by frame, outwards.
//!
//! ```text
//! frames      the iterator: calls the parts below, and is the only part that changes anything
//!  ├─ step         the caller by a row            ┐
//!  ├─ interrupted  what trap code interrupted     │ cursor, row, memory ─► step, or why there is none
//!  ├─ fallback     the caller without a row       │
//!  ├─ scan         the next word that may be one  ┘
//!  └─ call         what code says of a return address; tail_call: how else its call may have led there
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
