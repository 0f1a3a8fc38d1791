//! The command line: the name of a scenario, and further words for it.

/// Bytes kept; more are cut off.
const SIZE: usize = 2048;

/// The first word that requests a command line at the serial line instead.
pub const TYPED: &str = "typed";

/// The kernel's prompt for a command line, in a line of its own.
pub const TYPED_PROMPT: &str = "command line? ";

/// A copy of the boot loader's command line, because that memory will be reused.
#[derive(Debug)]
pub struct CommandLine {
    bytes: [u8; SIZE],
    length: usize,
}

impl CommandLine {
    /// Copies the bytes up to the first zero.
    #[must_use]
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

    /// Returns the first word, if there is a word.
    #[must_use]
    pub fn scenario(&self) -> Option<&str> {
        self.words().next()
    }

    /// Returns whether `word` is a word after the first.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.words().skip(1).any(|it| it == word)
    }

    /// Returns the first number among the words after the first.
    #[must_use]
    pub fn argument(&self) -> Option<u32> {
        self.words().skip(1).find_map(|word| word.parse().ok())
    }

    /// Returns the number in the first word of the form `name:number` after the first word.
    #[must_use]
    pub fn number_of(&self, name: &str) -> Option<usize> {
        self.words().skip(1).find_map(|word| {
            let (of, number) = word.split_once(':')?;
            (of == name).then(|| number.parse().ok())?
        })
    }

    /// All words but those like `a=b`: a Raspberry Pi's firmware puts its own, for Linux, before those of `cmdline.txt`.
    fn words(&self) -> impl Iterator<Item = &str> {
        let text = core::str::from_utf8(&self.bytes[..self.length]);
        let words = text.unwrap_or_default().split_ascii_whitespace();
        words.filter(|word| !word.contains('='))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> CommandLine {
        CommandLine::copy(text.bytes())
    }

    #[test]
    fn words_come_in_any_order_behind_the_scenario() {
        let line = line("busy  registers 300\tdefmt");
        assert_eq!(line.scenario(), Some("busy"));
        assert!(line.has("registers") && line.has("defmt") && !line.has("markup"));
        assert!(!line.has("busy"), "the scenario is no word of it");
        assert_eq!(line.argument(), Some(300));
        let line = CommandLine::copy(*b"busy compact: width:7 compact:80 300 compact:9");
        assert_eq!(line.number_of("compact"), Some(80));
        assert_eq!(line.argument(), Some(300));
        assert_eq!(line.number_of("busy"), None);
    }

    #[test]
    fn firmwares_own_words_are_left_out() {
        let line = line("coherent_pool=1M dma.dmachans=0x7f35 deep 7");
        assert_eq!(line.scenario(), Some("deep"));
        assert_eq!(line.argument(), Some(7));
    }

    #[test]
    fn it_ends_at_a_zero_byte_or_when_it_is_full() {
        assert_eq!(line("ok\0panic").scenario(), Some("ok"));
        let long = "x".repeat(3 * SIZE);
        assert_eq!(line(&long).scenario().map(str::len), Some(SIZE));
    }

    #[test]
    fn nothing_and_no_text_have_no_words() {
        assert_eq!(line("").scenario(), None);
        assert_eq!(line("  ").argument(), None);
        let no_text = CommandLine::copy(*b"ok \xff\xfe");
        assert_eq!(no_text.scenario(), None);
    }
}
