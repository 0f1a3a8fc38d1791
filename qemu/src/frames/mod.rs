//! Decodes log frames of `defmt` on a serial line that also has text.
//!
//! The line is split at zero bytes. A part that begins with a byte from 128 to 191 is a frame: UTF-8 text cannot begin so, and
//! the kernel's linker script (`kernel/src/defmt.ld`) gives frames such a first byte. One that begins with 255 is the mark of a frame
//! that was cut off before its first byte. Anything else is text. A frame becomes a
//! line of text; a damaged frame is left out.

mod line;
mod table;

pub use line::Frames;
pub use table::Words;

use std::path::Path;

use anyhow::Result;

/// Decodes a line's bytes with the log table of the image that wrote them; unchanged if it has none.
///
/// # Errors
/// When the image cannot be read.
pub fn text(line: &[u8], image: &Path) -> Result<Vec<u8>> {
    let Some(words) = Words::of(&std::fs::read(image)?)? else {
        return Ok(line.to_vec());
    };
    let mut frames = Frames::default();
    let mut text = frames.add(&words, line);
    text.extend(frames.finish(&words));
    Ok(text)
}
