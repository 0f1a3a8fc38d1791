//! Walking a stack, frame by frame, outwards.

mod call;
mod end;
mod fallback;
mod frame;
mod frames;
mod step;
#[cfg(test)]
mod tests;

pub use end::End;
pub use fallback::{Doubt, Fallbacks};
pub use frame::{Frame, FrameKind, How, SavedRegister};
pub use frames::Frames;
