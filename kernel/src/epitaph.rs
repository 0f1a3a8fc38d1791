//! What was printed last, kept across a reset of the machine. Traces that are sent as frames (`frames.rs`) are not kept: they
//! are no text.

use postmortem::{LastWords, Region};

/// In no segment of the image (`.epitaph` in `arch/*/link.ld`), so that nobody loads or clears it.
#[unsafe(link_section = ".epitaph")]
static REGION: Region = Region::new();

/// What was printed last.
pub static LAST_WORDS: LastWords = LastWords::new(&REGION);
