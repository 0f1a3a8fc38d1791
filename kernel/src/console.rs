//! The serial console, behind a lock. Reports do not take the lock: they write by [`POSTMORTEM`].

use core::fmt::{self, Write};

use spin::{Mutex, MutexGuard};

use crate::platform::POSTMORTEM;
use crate::{board, task};

static CONSOLE: Mutex<Console> = Mutex::new(Console(()));

/// The right to write to the serial line.
#[derive(Debug)]
pub struct Console(());

impl Write for Console {
    /// Never fails: bytes that the device does not take are lost.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        POSTMORTEM.write(text);
        Ok(())
    }
}

/// Locks the console, for text of several lines.
pub fn lock() -> MutexGuard<'static, Console> {
    CONSOLE.lock()
}

/// Locks the console until [`release`] is called, for a caller that cannot keep a guard.
pub fn acquire() {
    core::mem::forget(lock());
}

/// The same as [`acquire`], if nobody holds the console; returns whether nobody did.
pub fn try_acquire() -> bool {
    CONSOLE.try_lock().map(core::mem::forget).is_some()
}

/// Unlocks the console after [`acquire`].
///
/// # Safety
/// The caller has called [`acquire`], and has not released the console since.
pub unsafe fn release() {
    // SAFETY: the caller holds the lock: `acquire` took it and forgot the guard.
    unsafe { CONSOLE.force_unlock() };
}

/// Waits for the next byte from the serial line. Meanwhile other tasks run, or the CPU idles.
pub fn read() -> u8 {
    loop {
        match board::read() {
            Some(byte) => return byte,
            None => task::sleep(1),
        }
    }
}

/// Writes formatted text; what [`println!`] calls.
pub fn print(arguments: fmt::Arguments) {
    // Fails only if a value's `Display` does, which has nowhere to be reported.
    let _ = lock().write_fmt(arguments);
}

/// Writes a line to the serial console.
macro_rules! println {
    ($($argument:tt)*) => {
        $crate::console::print(format_args!("{}\n", format_args!($($argument)*)))
    };
}
pub(crate) use println;
