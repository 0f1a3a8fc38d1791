//! The serial line.

use core::arch::asm;
use core::fmt::{Result, Write};

pub struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> Result {
        text.bytes().for_each(|byte| out(0x3f8, byte));
        Ok(())
    }
}

pub fn out(port: u16, value: u8) {
    // SAFETY: the serial line and the debug exit, which do nothing to memory.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack)) }
}

#[macro_export]
macro_rules! println {
    ($($part:tt)*) => {{
        use core::fmt::Write;
        let _ = writeln!($crate::serial::Serial, $($part)*);
    }};
}
