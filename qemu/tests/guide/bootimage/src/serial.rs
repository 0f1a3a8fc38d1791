//! The serial line.

use spin::{Lazy, Mutex};
use uart_16550::SerialPort;

pub static LINE: Lazy<Mutex<SerialPort>> = Lazy::new(|| {
    // SAFETY: that is where a PC has it.
    let mut line = unsafe { SerialPort::new(0x3f8) };
    line.init();
    Mutex::new(line)
});

#[macro_export]
macro_rules! println {
    ($($part:tt)*) => {{
        use core::fmt::Write;
        let _ = writeln!($crate::serial::LINE.lock(), $($part)*);
    }};
}
