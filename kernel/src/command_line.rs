//! The command line: the scenario's name, and words that any scenario may have after it.

/// Bytes kept; more are cut off.
const SIZE: usize = 2048;

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
        self.words().next()
    }

    /// Whether `word` is one of those after the first.
    pub fn has(&self, word: &str) -> bool {
        self.words().skip(1).any(|it| it == word)
    }

    /// The first number among the words after the first.
    pub fn argument(&self) -> Option<u32> {
        self.words().skip(1).find_map(|word| word.parse().ok())
    }

    /// All words but those like `a=b`: a Raspberry Pi's firmware puts its own, for Linux, before those of `cmdline.txt`.
    fn words(&self) -> impl Iterator<Item = &str> {
        let text = core::str::from_utf8(&self.bytes[..self.length]);
        let words = text.unwrap_or_default().split_ascii_whitespace();
        words.filter(|word| !word.contains('='))
    }
}
