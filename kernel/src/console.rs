//! The serial console: a lock for those who print, none for those who die.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use spin::{Mutex, MutexGuard};

use crate::{board, epitaph, task};

/// What was written last was not the end of a line.
static LINE_IS_OPEN: AtomicBool = AtomicBool::new(false);

static CONSOLE: Mutex<Console> = Mutex::new(Console(()));

/// A way to write to the serial line.
#[derive(Debug)]
pub struct Console(());

impl Console {
    /// A console of one's own for a report: takes no lock, since whoever holds it may never let it go, and needs
    /// nothing to have been set up. Ends a line that was begun.
    pub fn for_report() -> Self {
        let mut console = Self(());
        if LINE_IS_OPEN.load(Ordering::Relaxed) {
            // Writing never fails, see below.
            let _ = console.write_str("\n");
        }
        console
    }
}

impl Write for Console {
    /// Never fails: a device that takes nothing loses what it was given.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        epitaph::LAST_WORDS.keep(text.as_bytes());
        board::write(text.as_bytes());
        if let Some(last) = text.as_bytes().last() {
            LINE_IS_OPEN.store(*last != b'\n', Ordering::Relaxed);
        }
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
