//! Log frames of `defmt` on a serial line that has text too.
//!
//! The line is cut at zero bytes. What begins with a byte from 128 to 191 is a frame: no text begins so in UTF-8, and
//! the kernel's linker script numbers what frames begin with accordingly (`kernel/src/defmt.ld`). All else is text. A frame
//! becomes a line of text; one that is damaged is left out, and nothing else is.

mod line;
mod table;

pub use line::Frames;
pub use table::Words;

use std::path::Path;

use anyhow::Result;

/// A line's bytes as text, with the words of the image that wrote them; as they are, if it has none.
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
