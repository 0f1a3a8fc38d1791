//! Writers for reports that take no lock, because the holder of a lock may be the code that failed.

use core::fmt::{self, Write};
use core::hint::spin_loop;

/// Polls of a serial port that takes no byte, before text is lost: far longer than it takes to send one.
const MAX_POLLS: u32 = 1_000_000;

/// Sends bytes to a serial port that may take none.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Polls that are left until the port takes a byte; none if it has not taken the last one.
    polls: u32,
}

impl Sender {
    pub(crate) const fn new() -> Self {
        Self { polls: MAX_POLLS }
    }

    /// Sends text by a function that sends a byte if the port takes one. Once the port has taken none for too long, each byte has one poll,
    /// so that a report ends also without the port.
    pub(crate) fn send(&mut self, text: &str, mut try_send: impl FnMut(u8) -> bool) -> fmt::Result {
        for byte in text.bytes() {
            while !try_send(byte) {
                self.polls = self.polls.checked_sub(1).ok_or(fmt::Error)?;
                spin_loop();
            }
            self.polls = MAX_POLLS;
        }
        Ok(())
    }
}

/// A function that prints text, as a writer, for a kernel without another writer. The function must not take a lock.
///
/// ```
/// fn early_print(text: &str) {
///     // Send each byte to the console.
/// #   let _ = text;
/// }
///
/// postmortem::print(&mut postmortem::PrintFn(early_print), &"a test of the report");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PrintFn(pub fn(&str));

impl Write for PrintFn {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        (self.0)(text);
        Ok(())
    }
}

/// A serial port whose registers are in memory, and whose first register sends what is written.
#[derive(Debug)]
struct MappedPort {
    registers: *mut u32,
    sender: Sender,
}

impl MappedPort {
    const fn at(registers: *mut u32) -> Self {
        Self {
            registers,
            sender: Sender::new(),
        }
    }

    /// Sends text. The port takes a byte if `bit` of the register with the number `status` is set, or clear.
    ///
    /// # Safety
    /// The caller must guarantee that the registers are mapped, as device memory.
    unsafe fn send(&mut self, text: &str, status: usize, bit: u32, is_set: bool) -> fmt::Result {
        let registers = self.registers;
        self.sender.send(text, |byte| {
            // SAFETY: the caller guarantees that the registers are there.
            unsafe {
                let status = registers.wrapping_add(status).read_volatile();
                let has_room = (status & bit != 0) == is_set;
                if has_room {
                    registers.write_volatile(byte.into());
                }
                has_room
            }
        })
    }
}

/// A PL011 serial port, as on most Arm boards, as a writer. The kernel or its firmware must have set it up.
///
/// ```no_run
/// // SAFETY: on QEMU's board `virt`, the registers of the PL011 are mapped there, as device memory.
/// let mut serial = unsafe { postmortem::Pl011::at(0x0900_0000 as *mut u32) };
/// postmortem::print(&mut serial, &"a test of the report");
/// ```
#[derive(Debug)]
pub struct Pl011 {
    port: MappedPort,
}

impl Pl011 {
    /// Creates a writer to the port whose registers begin at the address `registers`.
    ///
    /// # Safety
    /// The caller must guarantee that a PL011's registers are mapped at this address, as device memory.
    #[must_use]
    pub const unsafe fn at(registers: *mut u32) -> Self {
        Self {
            port: MappedPort::at(registers),
        }
    }
}

impl Write for Pl011 {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        /// `UARTFR`, in words from the first register, `UARTDR`, and its bit that is set while the FIFO is full ("PrimeCell UART (PL011)
        /// Technical Reference Manual", 3.3.1 "Data Register", 3.3.3 "Flag Register").
        const FLAGS: usize = 0x18 / 4;
        const IS_FULL: u32 = 1 << 5;
        // SAFETY: the caller of `at` guarantees that the registers are there.
        unsafe { self.port.send(text, FLAGS, IS_FULL, false) }
    }
}

/// The mini UART of a Raspberry Pi 3 or 4, as a writer. The kernel or its firmware must have set it up.
///
/// ```no_run
/// // SAFETY: on a Raspberry Pi 3, the registers of the mini UART are mapped there, as device memory.
/// let mut serial = unsafe { postmortem::MiniUart::at(0x3f21_5040 as *mut u32) };
/// postmortem::print(&mut serial, &"a test of the report");
/// ```
#[derive(Debug)]
pub struct MiniUart {
    port: MappedPort,
}

impl MiniUart {
    /// Creates a writer to the port whose first register, `AUX_MU_IO_REG`, is at the address `registers`: `0x3f21_5040` on a Raspberry Pi 3,
    /// `0xfe21_5040` on a Raspberry Pi 4.
    ///
    /// # Safety
    /// The caller must guarantee that a mini UART's registers are mapped at this address, as device memory.
    #[must_use]
    pub const unsafe fn at(registers: *mut u32) -> Self {
        Self {
            port: MappedPort::at(registers),
        }
    }
}

impl Write for MiniUart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        /// `AUX_MU_LSR_REG`, in words from the first register, `AUX_MU_IO_REG`, and its bit that is set while the FIFO has room ("BCM2837 ARM
        /// Peripherals", 2.2.2 "Mini UART register details").
        const LINE_STATUS: usize = 0x14 / 4;
        const HAS_ROOM: u32 = 1 << 5;
        // SAFETY: the caller of `at` guarantees that the registers are there.
        unsafe { self.port.send(text, LINE_STATUS, HAS_ROOM, true) }
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_port_that_takes_no_byte_is_given_up_until_it_takes_one() {
        let mut sender = Sender::new();
        let mut polls = 0;
        let mut never = |_| {
            polls += 1;
            false
        };
        assert_eq!(sender.send("ab", &mut never), Err(fmt::Error));
        assert_eq!(sender.send("cd", &mut never), Err(fmt::Error));
        assert_eq!(polls, MAX_POLLS + 2);
        let mut sent = String::new();
        let mut polls = 0;
        let every_other = |byte: u8| {
            polls += 1;
            let takes = sent.is_empty() || polls % 2 == 0;
            if takes {
                sent.push(byte.into());
            }
            takes
        };
        assert_eq!(sender.send("efg", every_other), Ok(()));
        assert_eq!(sent, "efg");
    }

    #[test]
    fn a_pl011_sends_only_what_has_room() {
        let mut registers = [0_u32; 16];
        // SAFETY: the array has place for all registers that are used.
        let mut port = unsafe { Pl011::at(registers.as_mut_ptr()) };
        assert_eq!(port.write_str("ab"), Ok(()));
        assert_eq!(registers[0], u32::from(b'b'));
        registers[6] = 1 << 5;
        // SAFETY: as above.
        let mut port = unsafe { Pl011::at(registers.as_mut_ptr()) };
        assert_eq!(port.write_str("c"), Err(fmt::Error));
        assert_eq!(registers[0], u32::from(b'b'));
    }

    #[test]
    fn a_mini_uart_sends_only_what_has_room() {
        let mut registers = [0_u32; 16];
        registers[5] = 1 << 5;
        // SAFETY: the array has place for all registers that are used.
        let mut port = unsafe { MiniUart::at(registers.as_mut_ptr()) };
        assert_eq!(port.write_str("ab"), Ok(()));
        assert_eq!(registers[0], u32::from(b'b'));
        registers[5] = !(1 << 5);
        // SAFETY: as above.
        let mut port = unsafe { MiniUart::at(registers.as_mut_ptr()) };
        assert_eq!(port.write_str("c"), Err(fmt::Error));
        assert_eq!(registers[0], u32::from(b'b'));
    }

    #[test]
    fn a_function_is_a_writer() {
        static PRINTED: Mutex<String> = Mutex::new(String::new());
        let mut out = PrintFn(|text| PRINTED.lock().expect("no panic holds it").push_str(text));
        assert_eq!(write!(out, "{} frames", 3), Ok(()));
        assert_eq!(*PRINTED.lock().expect("no panic holds it"), "3 frames");
    }
}
