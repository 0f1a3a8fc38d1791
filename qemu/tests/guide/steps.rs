//! The steps of a guide, as they stand in its text: blocks that are marked `diff FILE`.

use std::path::Path;

/// Makes all changes of a part of a guide; returns how many lines they add and remove.
#[track_caller]
pub fn apply(part: &str, folder: &Path) -> usize {
    qemu::template::apply(part, folder).expect("each change fits its file")
}
