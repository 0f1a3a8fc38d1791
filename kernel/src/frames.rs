//! Log frames of [`defmt`] on the serial line, mixed with text: a trace as numbers, in a sixth of the bytes. The host looks up
//! the names in the image.
//!
//! A frame begins and ends with a zero byte, which no text has. So a terminal shows the text, and a decoder that misses a
//! byte finds the next frame and the next line.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use postmortem::Walk;
use unwind::Event;

use crate::sender;

/// Whether traces are sent as frames.
static ARE_USED: AtomicBool = AtomicBool::new(false);

/// Sets whether traces are sent as log frames from now on.
pub fn use_frames(yes: bool) {
    ARE_USED.store(yes, Ordering::Relaxed);
}

/// Whether traces are sent as frames.
pub fn are_used() -> bool {
    ARE_USED.load(Ordering::Relaxed)
}

/// Sends a trace, one log frame for each line: stack frames as numbers, everything else as text. Does not wait for the
/// console's lock, because it is part of a report.
pub fn send_trace(walk: &Walk) -> fmt::Result {
    sender::report(|| {
        walk.with_text(None, false, |text| {
            walk.tell(&mut |event| {
                match *event {
                    Event::Frame(number, frame) => defmt::println!("{=u32}: {}", number, frame),
                    // The host knows the names, and so whether it is another function at all.
                    Event::TailCall { called, .. } => {
                        defmt::println!("        reached by a tail call from {=u64:#018x}", called);
                    }
                    _ => text.write(&mut Line::new(), event)?,
                }
                Ok(())
            })
        })
    })
}

/// Bytes kept of a line; a longer one is cut off.
const SIZE: usize = 240;

/// A buffer for a line of text, which is sent as a log frame when its end is written.
struct Line {
    bytes: [u8; SIZE],
    length: usize,
}

impl Line {
    const fn new() -> Self {
        Self {
            bytes: [0; SIZE],
            length: 0,
        }
    }

    fn text(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        // A character that was cut in the middle is left out.
        bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                defmt::println!("{=str}", self.text());
                self.length = 0;
            } else if let Some(slot) = self.bytes.get_mut(self.length) {
                *slot = byte;
                self.length = self.length.saturating_add(1);
            }
        }
        Ok(())
    }
}
