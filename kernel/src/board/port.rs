//! A serial port of an Arm board: which device it is, and its address.

use portable::device_tree::Uart;

use super::{mini_uart, pl011};

/// The baud rate of every port.
pub const BAUD: u32 = 115_200;

/// Polls before a byte is given up: far longer than it takes to send one.
const MAX_POLLS: u32 = 1_000_000;

/// A serial port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Which device it is.
    pub uart: Uart,
    /// The physical address of its registers.
    pub address: u64,
    /// Its clock, in Hz.
    pub clock: u32,
}

impl Port {
    /// Sends bytes. Bytes that the device does not take in time are lost, because a report must not wait for ever.
    pub fn write(self, bytes: &[u8]) {
        for byte in bytes {
            for _ in 0..MAX_POLLS {
                let is_sent = match self.uart {
                    Uart::Pl011 => pl011::try_send(self, *byte),
                    Uart::Mini => mini_uart::try_send(self, *byte),
                };
                if is_sent {
                    break;
                }
                core::hint::spin_loop();
            }
        }
    }

    /// The next byte, if there is one. Bytes received with errors are skipped.
    pub fn read(self) -> Option<u8> {
        match self.uart {
            Uart::Pl011 => pl011::try_receive(self),
            Uart::Mini => mini_uart::try_receive(self),
        }
    }
}
