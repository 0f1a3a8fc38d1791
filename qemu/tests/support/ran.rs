//! The result of a boot, as the runner shows it.

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// The runner's exit status.
    pub status: i32,
    /// Its standard output: the serial line.
    pub serial: Vec<u8>,
    /// Its standard error: its own messages, cargo's and QEMU's.
    pub words: String,
}

impl Ran {
    /// The serial line as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.serial).into_owned()
    }

    /// Fails, with all output, unless the exit status is this one.
    #[track_caller]
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(
            self.status,
            status,
            "exit status; the runner said:\n{}\nand the serial line:\n{}",
            self.words,
            self.text()
        );
        self
    }

    /// Fails unless standard error contains this.
    #[track_caller]
    pub fn expect_words(self, part: &str) -> Self {
        assert!(self.words.contains(part), "no {part:?} in:\n{}", self.words);
        self
    }
}
