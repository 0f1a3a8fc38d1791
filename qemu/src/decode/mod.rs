//! Adds names, files, lines and inlined functions from an image's debug information to the text of a report.
//!
//! ```text
//! bytes ─► decoder ─► lines ─► line ─► symbolizer ─► style
//!          line by    what     what    what the      as text, coloured text
//!          line       becomes  it has  image says    or JSON
//!                     of each
//! ```
//!
//! A line in which nothing is found goes through byte for byte.

mod command;
mod decoder;
mod json;
mod line;
mod lines;
mod moved;
mod statics;
mod style;
mod symbolizer;

pub use command::{Decode, decode};
pub use decoder::Decoder;
pub(crate) use line::{MOVED, build};
pub use lines::Summary;
pub use style::Style;
pub use symbolizer::{Answer, Function, Source, Symbolizer};

use anyhow::Result;

/// A log with all names and lines from the image, as plain text.
///
/// # Errors
/// When the image cannot be read.
pub fn plain(log: &[u8], image: &std::path::Path) -> Result<String> {
    let symbolizer = Symbolizer::open(image)?;
    let mut text = Vec::new();
    let mut decoder = Decoder::new(&symbolizer, Style::plain(), &mut text);
    decoder.add(log)?;
    decoder.finish()?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
pub use statics::{Static, statics};
