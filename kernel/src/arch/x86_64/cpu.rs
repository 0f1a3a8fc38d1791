//! The processor itself.

use x86_64::instructions::{hlt, interrupts};

/// Stops this processor for good.
pub fn halt() -> ! {
    interrupts::disable();
    loop {
        hlt();
    }
}
