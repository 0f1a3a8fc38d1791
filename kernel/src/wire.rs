//! The serial line, as text and log frames share it. Only a report, or an NMI, comes in the middle of a frame. Then the frame is
//! cut off, and the rest of it is not sent when the interrupted code goes on: it would be taken for text.

use core::sync::atomic::{AtomicUsize, Ordering};

use defmt::Encoder;
use portable::cut_off::CUT_OFF;

use crate::board;

/// How many frames were begun: the number of the last one.
static BEGUN: AtomicUsize = AtomicUsize::new(0);
/// The frame on the line: twice its number, and one more between the zero byte before it and the one after it. 0 if there is none.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// How many frames were cut off, or not sent at all, since that was last asked.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// Sends text.
pub fn write(text: &[u8]) {
    cut();
    board::write(text);
}

/// Ends the frame that is being sent, if there is one.
fn cut() {
    let open = OPEN.swap(0, Ordering::Relaxed);
    if open & 1 != 0 {
        board::write(&CUT_OFF);
    }
    if open != 0 {
        board::write(&[0]);
    }
}

/// Changes what is on the line, unless something else was sent in the meantime.
fn change(from: usize, to: usize) -> bool {
    let changed = OPEN.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    changed.is_ok()
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
    /// Twice its number.
    number: usize,
    /// Something else was sent before its end.
    is_cut: bool,
    encoder: Encoder,
}

impl Frame {
    /// Begins a frame. Its first byte is zero, which ends what was there before.
    pub fn begin() -> Self {
        cut();
        // From 1 on.
        let number = BEGUN.fetch_add(1, Ordering::Relaxed).wrapping_add(1) << 1;
        OPEN.store(number, Ordering::Relaxed);
        let mut encoder = Encoder::new();
        encoder.start_frame(&mut board::write);
        Self {
            number,
            is_cut: !change(number, number | 1),
            encoder,
        }
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let Self {
            number,
            is_cut,
            encoder,
        } = self;
        encoder.write(bytes, &mut |bytes: &[u8]| send(*number, is_cut, bytes));
    }

    /// Ends it.
    pub fn end(mut self) {
        let (number, is_cut) = (self.number, &mut self.is_cut);
        self.encoder.end_frame(&mut |bytes: &[u8]| match bytes {
            [0] => {
                *is_cut |= !change(number | 1, number);
                // Also if it was cut off: the byte that was on its way then may have come behind what cut it off.
                board::write(bytes);
            }
            _ => send(number, is_cut, bytes),
        });
        if self.is_cut {
            lose();
        }
        change(number, 0);
    }
}

/// Sends a part of a frame, unless that was cut off.
fn send(number: usize, is_cut: &mut bool, bytes: &[u8]) {
    *is_cut |= OPEN.load(Ordering::Relaxed) != number | 1;
    if !*is_cut {
        board::write(bytes);
    }
}
