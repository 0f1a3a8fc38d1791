//! QEMU's Raspberry Pi 3 as a board: this program boots the image a second time, in a process of its own, and talks to its serial line.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use anyhow::{Context, Result, bail};
use portable::command_line::TYPED;

use super::parts::Part;
use super::talk::talk;
use super::wire::{Ended, Event, Wire};
use crate::machine::Board;
use crate::serial::port;

/// Seconds after which QEMU is ended if nobody ends it: a person connects a board meanwhile.
const LIMIT: &str = "86400";

/// A running machine, which does not outlive this value.
pub(super) struct Machine {
    process: Child,
    wire: Wire,
    /// What this program reports about the machine.
    words: File,
}

impl Machine {
    /// Boots the image.
    ///
    /// # Errors
    /// Returns an error if the machine cannot be started.
    pub(super) fn start(image: &Path) -> Result<Self> {
        let program =
            std::env::current_exe().context("cannot find the executable file of this program")?;
        let words = tempfile::tempfile().context("cannot make a temporary file")?;
        let stderr = words
            .try_clone()
            .context("cannot duplicate the handle of a temporary file")?;
        let process = Command::new(program)
            .args(["--board", Board::Raspi3b.name()])
            .args(["--interactive", "--timeout", LIMIT, "--image"])
            .arg(image)
            .arg(TYPED)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn();
        let mut process = process.context("cannot start a second instance of this program")?;
        let to = process.stdin.take().context(
            "the second instance of this program was started without a pipe for standard input",
        )?;
        let from = process.stdout.take().context(
            "the second instance of this program was started without a pipe for standard output",
        )?;
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            let why = port::read(from, |bytes| sender.send(Event::Written(bytes)).is_ok());
            // The receiver is gone if all parts are over.
            let _ = why.map(|why| sender.send(Event::Gone(why)));
        });
        let wire = Wire::new(Box::new(to), events, None);
        Ok(Self {
            process,
            wire,
            words,
        })
    }

    /// Talks to the machine for one part. Returns what it has written.
    ///
    /// # Errors
    /// Returns an error if the machine ends before the part does.
    pub(super) fn talk(&mut self, part: &Part) -> Result<String> {
        self.wire.begin();
        if talk(&mut self.wire, part) != Ended::Whole {
            let mut words = String::new();
            self.words
                .rewind()
                .and_then(|()| self.words.read_to_string(&mut words))
                .context("cannot read a temporary file")?;
            let words = words.trim();
            bail!(
                "QEMU did not complete the part `{part}` of the check: {messages}",
                part = part.name,
                messages = words
            );
        }
        Ok(String::from_utf8_lossy(&self.wire.came).replace('\r', ""))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
