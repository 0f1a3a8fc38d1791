//! Log frames of [`defmt`] on the serial line, between its text: a trace as numbers, a sixth of the bytes, whose names the
//! host finds in the image.
//!
//! A frame begins and ends with a zero byte, which no text has. So a terminal shows the text, and a decoder that misses a
//! byte finds the next frame and the next line.

use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use defmt::Encoder;
use postmortem::Walk;
use unwind::Event;

use crate::{board, console, cpus};

/// Whether traces are sent as frames.
static ARE_USED: AtomicBool = AtomicBool::new(false);

/// The number of the processor that reports, plus one: it does not wait for the console.
static REPORTER: AtomicUsize = AtomicUsize::new(0);

/// Encodes one frame at a time.
///
/// The fence: only the logger below uses it, between `acquire` and `release`: who has the console, or who reports while
/// everybody else stands still.
struct Shared(UnsafeCell<Encoder>);

// SAFETY: see the type.
unsafe impl Sync for Shared {}

static ENCODER: Shared = Shared(UnsafeCell::new(Encoder::new()));

#[defmt::global_logger]
struct Serial;

// SAFETY: between `acquire` and `release` nobody else writes: they hold the console, or are called by the reporter.
unsafe impl defmt::Logger for Serial {
    fn acquire() {
        if !is_reporter() {
            console::hold();
        }
        // A frame that was begun, and interrupted by a report, ends here. That makes each frame begin with a zero byte too,
        // which ends the text before it.
        // SAFETY: see `Shared`.
        let encoder = unsafe { &mut *ENCODER.0.get() };
        *encoder = Encoder::new();
        encoder.start_frame(board::write);
    }

    unsafe fn flush() {
        // What was written is on the line already.
    }

    unsafe fn release() {
        // SAFETY: see `Shared`.
        unsafe { &mut *ENCODER.0.get() }.end_frame(board::write);
        if !is_reporter() {
            // SAFETY: `acquire` held it.
            unsafe { console::let_go() };
        }
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: see `Shared`.
        unsafe { &mut *ENCODER.0.get() }.write(bytes, board::write);
    }
}

fn is_reporter() -> bool {
    REPORTER.load(Ordering::Relaxed) == cpus::this() + 1
}

/// Traces are sent as frames from now on, or no longer.
pub fn use_frames(yes: bool) {
    ARE_USED.store(yes, Ordering::Relaxed);
}

/// Whether traces are sent as frames.
pub fn are_used() -> bool {
    ARE_USED.load(Ordering::Relaxed)
}

/// Sends a trace, a frame for each of its lines: frames as numbers, all else as text. Called by who reports: the console's lock
/// is not waited for.
pub fn send_trace(walk: &Walk) -> fmt::Result {
    let before = REPORTER.swap(cpus::this() + 1, Ordering::Relaxed);
    let sent = walk.with_text(None, false, |text| {
        walk.tell(&mut |event| {
            match *event {
                Event::Frame(number, frame) => defmt::println!("{=u32}: {}", number, frame),
                // Who decodes it knows the names, and whether this is another function at all.
                Event::TailCall { called, .. } => {
                    defmt::println!("        reached by a tail call from {=u64:#018x}", called);
                }
                _ => text.write(&mut Line::new(), event)?,
            }
            Ok(())
        })
    });
    REPORTER.store(before, Ordering::Relaxed);
    sent
}

/// Bytes kept of a line; a longer one is cut off.
const SIZE: usize = 240;

/// A line of text, for what has no numbers worth sending: sent when its end is written.
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
        // A cut in the middle of a character takes the rest of it away.
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
