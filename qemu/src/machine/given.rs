//! A command that somebody gives, which boots the image in its own way: from a disk, by a boot loader, on another board.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::evidence::have_monitor;

/// A command that starts QEMU, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    program: String,
    /// Its arguments, with the runner's serial line where they have QEMU's standard output.
    arguments: Vec<String>,
    /// They have a serial line, or another line that the kernel writes to.
    has_line: bool,
    /// They have a stub for a debugger.
    has_stub: bool,
}

impl Given {
    /// A command of these words. `-serial stdio`, `-serial mon:stdio` and `-debugcon stdio` become the line that the runner
    /// reads. Without any of them a serial line is added, as `-nographic` means too. There is no window, unless `-display` asks for
    /// one.
    ///
    /// # Errors
    /// There is no word, or a serial line goes elsewhere and none to standard output.
    pub fn new(words: &[String]) -> Result<Self> {
        let Some((program, words)) = words.split_first() else {
            bail!("no command follows `--`");
        };
        let mut given = Self {
            program: program.clone(),
            arguments: Vec::new(),
            has_line: false,
            has_stub: false,
        };
        let mut words = words.iter().map(String::as_str);
        let (mut elsewhere, mut has_display) = (None, false);
        while let Some(word) = words.next() {
            // QEMU takes an option with two dashes as well.
            let option = match word.strip_prefix("--") {
                Some(_) => &word[1..],
                None => word,
            };
            match option {
                "-nographic" => {
                    given.add(["-display", "none"]);
                    has_display = true;
                }
                "-serial" | "-debugcon" => match words.next() {
                    Some("stdio" | "mon:stdio") => given.take(option),
                    device => {
                        let is_lost = |device: &&str| matches!(*device, "null" | "none");
                        elsewhere = elsewhere.or(device.filter(|device| !is_lost(device)));
                        given.add([option, device.unwrap_or_default()]);
                    }
                },
                "-monitor" => match words.next() {
                    Some("stdio" | "none") => given.add([option, "none"]),
                    device => given.add([option, device.unwrap_or_default()]),
                },
                _ => {
                    has_display |= option == "-display";
                    given.has_stub |= matches!(option, "-s" | "-gdb");
                    given.arguments.push(word.to_owned());
                }
            }
        }
        if !has_display {
            given.add(["-display", "none"]);
        }
        if let Some(device) = elsewhere.filter(|_| !given.has_line) {
            bail!(
                "the machine's serial line is {device}, which the runner cannot read; pass `-serial stdio`"
            );
        }
        if !given.has_line {
            given.take("-serial");
        }
        Ok(given)
    }

    /// The program, as typed.
    #[must_use]
    pub fn program(&self) -> &Path {
        Path::new(&self.program)
    }

    /// Whether a debugger can connect to the machine.
    pub(super) const fn has_stub(&self) -> bool {
        self.has_stub
    }

    /// Whether somebody can type at QEMU's monitor.
    pub(super) fn has_monitor(&self) -> bool {
        have_monitor(self.arguments.iter().map(String::as_str))
    }

    /// Adds the arguments, which use the character device `serial`.
    pub(super) fn arguments(&self, command: &mut Command) {
        command.args(&self.arguments);
    }

    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.arguments.extend(words.map(str::to_owned));
    }

    /// Has this option's device be the line that the runner reads.
    fn take(&mut self, option: &str) {
        // One device of QEMU's has one user; a second line is read by nobody.
        let device = if self.has_line {
            "null"
        } else {
            "chardev:serial"
        };
        self.has_line = true;
        self.add([option, device]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &str) -> Result<String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let given = Given::new(&words)?;
        Ok(format!("{} {}", given.program, given.arguments.join(" ")))
    }

    #[test]
    fn the_line_is_the_one_that_would_be_at_the_terminal() {
        for (typed, expected) in [
            ("q -m 1G", "q -m 1G -display none -serial chardev:serial"),
            (
                "q -serial stdio -m 1G",
                "q -serial chardev:serial -m 1G -display none",
            ),
            (
                "q -serial null -serial mon:stdio",
                "q -serial null -serial chardev:serial -display none",
            ),
            (
                "q -nographic -cdrom x.iso",
                "q -display none -cdrom x.iso -serial chardev:serial",
            ),
            (
                "q -nographic -serial null -serial stdio",
                "q -display none -serial null -serial chardev:serial",
            ),
            (
                "q --nographic --serial mon:stdio -smp 2",
                "q -display none -serial chardev:serial -smp 2",
            ),
            (
                "q -display gtk -debugcon stdio -monitor stdio",
                "q -display gtk -debugcon chardev:serial -monitor none",
            ),
            (
                "q -serial file:log -debugcon stdio",
                "q -serial file:log -debugcon chardev:serial -display none",
            ),
            (
                "q -serial stdio -debugcon stdio -display none",
                "q -serial chardev:serial -debugcon null -display none",
            ),
        ] {
            assert_eq!(given(typed).unwrap(), expected, "{typed}");
        }
    }

    #[test]
    fn a_line_that_goes_elsewhere_cannot_be_read() {
        for typed in ["-serial file:log", "--serial file:log -serial null"] {
            let error = given(&format!("q {typed}")).unwrap_err().to_string();
            assert!(error.contains("file:log"), "{error}");
        }
        assert!(Given::new(&[]).is_err());
    }
}
