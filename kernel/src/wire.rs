//! The serial line, as text and log frames share it. Only a report, or an NMI, comes in the middle of a frame. Then the frame is
//! cut off, and the rest of it is not sent when the interrupted code goes on: it would be taken for text.

use core::sync::atomic::{AtomicUsize, Ordering};

use defmt::Encoder;

use crate::board;

/// How many frames were begun: the number of the last one.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
/// The number of the frame that is being sent; 0 if there is none.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// How many frames were cut off, or not sent at all, since that was last asked. One that was cut off right behind its last byte
/// counts too: whether that byte was sent before is not known.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// Sends text.
pub fn write(text: &[u8]) {
    cut();
    board::write(text);
}

/// Ends the frame that is being sent, if there is one.
fn cut() {
    if OPEN.swap(0, Ordering::Relaxed) != 0 {
        board::write(&[0]);
    }
}

/// Counts a frame that is not sent.
pub fn lose() {
    LOST.fetch_add(1, Ordering::Relaxed);
}

/// How many frames were lost since this was last called.
pub fn take_lost() -> usize {
    LOST.swap(0, Ordering::Relaxed)
}

/// A log frame on its way.
pub struct Frame {
    number: usize,
    /// Something else was sent before the last byte of this.
    is_cut: bool,
    encoder: Encoder,
}

impl Frame {
    /// Begins a frame. Its first byte is zero, which ends what was there before.
    pub fn begin() -> Self {
        cut();
        let number = BEGUN.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        OPEN.store(number, Ordering::Relaxed);
        let mut frame = Self {
            number,
            is_cut: false,
            encoder: Encoder::new(),
        };
        frame.send(|encoder, line| encoder.start_frame(line));
        frame
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.send(|encoder, line| encoder.write(bytes, line));
    }

    /// Ends it.
    pub fn end(mut self) {
        self.send(|encoder, line| encoder.end_frame(line));
        if self.is_cut {
            // The byte that was on its way when the frame was cut off may have come behind what cut it off.
            board::write(&[0]);
            lose();
        }
        let _ = OPEN.compare_exchange(self.number, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn send(&mut self, encode: impl FnOnce(&mut Encoder, &mut dyn FnMut(&[u8]))) {
        let Self {
            number,
            is_cut,
            encoder,
        } = self;
        encode(encoder, &mut |bytes| {
            *is_cut |= OPEN.load(Ordering::Relaxed) != *number;
            if !*is_cut {
                board::write(bytes);
            }
        });
    }
}
