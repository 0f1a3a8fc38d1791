//! A serial port of a PC, as a writer that takes no lock.

use core::arch::asm;
use core::fmt::{self, Write};

use crate::writers::Sender;

/// A serial port of a PC, a 16550, as a writer that takes no lock. The kernel or its firmware must have set it up.
///
/// ```no_run
/// # #[cfg(target_arch = "x86_64")] {
/// // SAFETY: COM1 of a PC.
/// let mut serial = unsafe { postmortem::SerialPort::at(0x3f8) };
/// postmortem::print(&mut serial, &"a test of the report");
/// # }
/// ```
#[derive(Debug)]
pub struct SerialPort {
    data: u16,
    sender: Sender,
}

impl SerialPort {
    /// Creates a writer to the port whose first I/O port is `first`: 0x3f8 for COM1.
    ///
    /// # Safety
    /// The caller must guarantee that the eight I/O ports from `first` on belong to a 16550, or to no device.
    #[must_use]
    pub const unsafe fn at(first: u16) -> Self {
        Self {
            data: first,
            sender: Sender::new(),
        }
    }
}

impl Write for SerialPort {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        /// The line status register, in I/O ports from the first one, and its bit that tells that the transmitter takes a byte (PC16550D
        /// data sheet, 8.4 "Line Status Register").
        const STATUS: u16 = 5;
        const HAS_ROOM: u8 = 1 << 5;
        let data = self.data;
        self.sender.send(text, |byte| {
            let status: u8;
            // SAFETY: the caller of `at` guarantees that the I/O ports are the device's, and the device changes no memory.
            unsafe {
                asm!("in al, dx", in("dx") data.wrapping_add(STATUS), out("al") status,
                    options(nomem, nostack, preserves_flags));
            }
            let has_room = status & HAS_ROOM != 0;
            if has_room {
                // SAFETY: see above. The first I/O port sends what is written.
                unsafe {
                    asm!("out dx, al", in("dx") data, in("al") byte, options(nomem, nostack, preserves_flags));
                }
            }
            has_room
        })
    }
}
