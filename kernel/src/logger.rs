//! The logger of `defmt`'s macros: sends log frames over the serial line.

use core::cell::UnsafeCell;

use defmt::Encoder;

use crate::frames::is_reporter;
use crate::{board, console};

/// The encoder of the current log frame.
///
/// Invariant: only the logger uses it, between `acquire` and `release`. Then this CPU holds the console, or writes a report
/// while all other CPUs are stopped.
struct Shared(UnsafeCell<Encoder>);

// SAFETY: one CPU at a time uses it, by the type's invariant.
unsafe impl Sync for Shared {}

static ENCODER: Shared = Shared(UnsafeCell::new(Encoder::new()));

#[defmt::global_logger]
struct Serial;

// SAFETY: between `acquire` and `release` no other CPU logs: this one holds the console, or writes a report while the others
// are stopped.
unsafe impl defmt::Logger for Serial {
    fn acquire() {
        if !is_reporter() {
            console::acquire();
        }
        // Ends a frame that a report has interrupted. Thus every frame also begins with a zero byte, which ends the text before
        // it.
        // SAFETY: called between `acquire` and `release`, so no other reference exists, by the invariant of `Shared`.
        let encoder = unsafe { &mut *ENCODER.0.get() };
        *encoder = Encoder::new();
        encoder.start_frame(board::write);
    }

    unsafe fn flush() {
        // Nothing is buffered.
    }

    unsafe fn release() {
        // SAFETY: called between `acquire` and `release`, so no other reference exists, by the invariant of `Shared`.
        unsafe { &mut *ENCODER.0.get() }.end_frame(board::write);
        if !is_reporter() {
            // SAFETY: `acquire` has acquired the console.
            unsafe { console::release() };
        }
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: called between `acquire` and `release`, so no other reference exists, by the invariant of `Shared`.
        unsafe { &mut *ENCODER.0.get() }.write(bytes, board::write);
    }
}
