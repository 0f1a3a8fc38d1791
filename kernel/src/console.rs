//! The serial console, behind a lock. Reports need none: they write by [`POSTMORTEM`] itself.

use core::fmt::{self, Write};

use spin::{Mutex, MutexGuard};

use crate::platform::POSTMORTEM;
use crate::{board, task};

static CONSOLE: Mutex<Console> = Mutex::new(Console(()));

/// The right to write to the serial line.
#[derive(Debug)]
pub struct Console(());

impl Write for Console {
    /// Never fails: a device that takes nothing loses what it was given.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        POSTMORTEM.write(text);
        Ok(())
    }
}

/// The console, for as long as one has more to say than a line.
pub fn lock() -> MutexGuard<'static, Console> {
    CONSOLE.lock()
}

/// Holds the console until [`let_go`].
pub fn hold() {
    core::mem::forget(lock());
}

/// Ends [`hold`].
///
/// # Safety
/// The caller has called that, and this not since.
pub unsafe fn let_go() {
    // SAFETY: the guard was forgotten.
    unsafe { CONSOLE.force_unlock() };
}

/// The next byte from the serial line. Until there is one, other tasks run, or the processor rests.
pub fn read() -> u8 {
    loop {
        match board::read() {
            Some(byte) => return byte,
            None => task::sleep(1),
        }
    }
}

/// What [`println!`] does.
pub fn print(arguments: fmt::Arguments) {
    // Fails only when a value's own `Display` does; what it wrote is there.
    let _ = lock().write_fmt(arguments);
}

/// Writes a line to the serial console.
macro_rules! println {
    ($($argument:tt)*) => {
        $crate::console::print(format_args!("{}\n", format_args!($($argument)*)))
    };
}
pub(crate) use println;
