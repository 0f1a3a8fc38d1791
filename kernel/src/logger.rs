//! What `defmt`'s macros send their frames with: see `frames.rs`.

use core::cell::UnsafeCell;

use defmt::Encoder;

use crate::frames::is_reporter;
use crate::{board, console};

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
