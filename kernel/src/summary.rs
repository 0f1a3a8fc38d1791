//! The first failure in one line, kept to be repeated as the last line: what scrolled away, or was cut short by another
//! failure, is there again.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::console::Console;

/// Bytes kept; a longer line is cut off.
const SIZE: usize = 240;

static TEXT: [AtomicU8; SIZE] = [const { AtomicU8::new(0) }; SIZE];
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Writes to the console, and keeps what it writes.
#[derive(Debug)]
pub struct Kept<'a>(pub &'a mut Console);

impl Write for Kept<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // On the wire before anything else.
        self.0.write_str(text)?;
        let mut length = LENGTH.load(Ordering::Relaxed);
        for (slot, byte) in TEXT.iter().skip(length).zip(text.bytes()) {
            slot.store(byte, Ordering::Relaxed);
            length += 1;
        }
        LENGTH.store(length, Ordering::Release);
        Ok(())
    }
}

/// Writes the line again.
pub fn repeat(console: &mut Console) -> fmt::Result {
    let length = LENGTH.load(Ordering::Acquire);
    console.write_str("first failure: ")?;
    let mut bytes = [0; SIZE];
    for (byte, kept) in bytes.iter_mut().zip(&TEXT[..length]) {
        *byte = kept.load(Ordering::Relaxed);
    }
    // A cut in the middle of a character leaves a piece of it.
    for chunk in bytes[..length].utf8_chunks() {
        console.write_str(chunk.valid())?;
    }
    console.write_str("\n")
}
