//! The command line: its first word is the scenario's name.

/// Bytes kept; more are cut off.
const SIZE: usize = 256;

/// A copy of what the boot loader left in memory that will not stay.
#[derive(Debug)]
pub struct CommandLine {
    bytes: [u8; SIZE],
    length: usize,
}

impl CommandLine {
    /// Copies the bytes up to the first zero.
    pub fn copy(from: impl IntoIterator<Item = u8>) -> Self {
        let mut line = Self {
            bytes: [0; SIZE],
            length: 0,
        };
        for (slot, byte) in line.bytes.iter_mut().zip(from) {
            if byte == 0 {
                break;
            }
            *slot = byte;
            line.length += 1;
        }
        line
    }

    /// The first word, if there is one.
    pub fn scenario(&self) -> Option<&str> {
        let text = core::str::from_utf8(&self.bytes[..self.length]).ok()?;
        text.split_ascii_whitespace().next()
    }
}
