//! The serial line.

use core::fmt::{Result, Write};

pub struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> Result {
        text.bytes().for_each(out);
        Ok(())
    }
}

pub fn out(byte: u8) {
    // SAFETY: the PL011's data register.
    unsafe { (0x900_0000 as *mut u32).write_volatile(u32::from(byte)) }
}

#[macro_export]
macro_rules! println {
    ($($part:tt)*) => {{
        use core::fmt::Write;
        let _ = writeln!($crate::serial::Serial, $($part)*);
    }};
}
