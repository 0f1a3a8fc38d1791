//! A serial line with a kernel at its other end: a board's, or QEMU's.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result};
use portable::command_line::TYPED_PROMPT;

/// How long the line may be silent before the user gets advice. Nothing is decided by it.
const QUIET: Duration = Duration::from_secs(30);

/// Removes what was typed, if noise at power-on looked like keys, and asks for the prompt again.
const ASK_AGAIN: &[u8] = b"\x15\r";

/// Events of a line, and of the user.
#[derive(Debug)]
pub(super) enum Event {
    /// The kernel has written.
    Written(Vec<u8>),
    /// The line is gone, and why.
    Gone(String),
    /// The user has typed a line.
    Entered(String),
    /// Standard input has ended, so the user cannot act.
    Alone,
    /// Ctrl-C.
    Interrupted,
}

/// How waiting for the kernel ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All has come.
    Whole,
    /// The user has pressed Enter.
    Entered,
    /// The line is gone, and why.
    Gone(String),
    /// Standard input has ended.
    Alone,
    /// Ctrl-C.
    Interrupted,
}

/// A serial line.
pub(super) struct Wire {
    to: Box<dyn Write>,
    events: Receiver<Event>,
    /// What has come since [`Wire::begin`].
    pub(super) came: Vec<u8>,
    /// What the user is advised to do if the line is silent; `None` if there is no user.
    advice: Option<String>,
}

impl Wire {
    pub(super) fn new(to: Box<dyn Write>, events: Receiver<Event>, advice: Option<String>) -> Self {
        Self {
            to,
            events,
            came: Vec::new(),
            advice,
        }
    }

    /// Begins a new part. If the kernel has asked for a command line already, the part begins with that prompt.
    pub(super) fn begin(&mut self) {
        let is_asked = self.came.ends_with(TYPED_PROMPT.as_bytes());
        self.came.clear();
        if is_asked {
            self.came.extend(TYPED_PROMPT.as_bytes());
        }
    }

    /// Begins a new part with a board that was switched off and on.
    pub(super) fn begin_anew(&mut self) {
        self.came.clear();
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Returns an error if the line does not take them.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = self.to.write_all(bytes).and_then(|()| self.to.flush());
        sent.context("cannot send to the serial line")
    }

    /// Waits for the kernel's prompt for a command line.
    pub(super) fn wait_for_prompt(&mut self) -> Ended {
        self.wait(true, |came| came.ends_with(TYPED_PROMPT.as_bytes()))
    }

    /// Asks a kernel for its prompt, which may have come before this program was started.
    pub(super) fn ask_again(&mut self) {
        // A line that is gone is an event for the next wait.
        let _ = self.send(ASK_AGAIN);
    }

    /// Waits until what has come is enough.
    pub(super) fn wait(&mut self, for_prompt: bool, is_enough: impl Fn(&[u8]) -> bool) -> Ended {
        let mut is_advised = false;
        while !is_enough(&self.came) {
            match self.events.recv_timeout(QUIET) {
                Ok(Event::Written(bytes)) => self.came.extend(bytes),
                Ok(Event::Gone(why)) => return Ended::Gone(why),
                Ok(Event::Entered(_)) => return Ended::Entered,
                Ok(Event::Alone) => return Ended::Alone,
                Ok(Event::Interrupted) => return Ended::Interrupted,
                Err(RecvTimeoutError::Disconnected) => {
                    return Ended::Gone(
                        "the thread that reads the serial line has ended".to_owned(),
                    );
                }
                Err(RecvTimeoutError::Timeout) => {
                    if for_prompt {
                        self.ask_again();
                    }
                    if let Some(advice) = self.advice.as_ref().filter(|_| !is_advised) {
                        let seconds = QUIET.as_secs();
                        println!("the board sent nothing for {seconds} s; {advice}");
                        is_advised = true;
                    }
                }
            }
        }
        Ended::Whole
    }

    /// Waits for a line of the user's, and keeps what the kernel writes meanwhile.
    pub(super) fn entered(&mut self) -> Result<String, Ended> {
        loop {
            match self.events.recv() {
                Ok(Event::Written(bytes)) => self.came.extend(bytes),
                Ok(Event::Entered(line)) => return Ok(line),
                Ok(Event::Gone(why)) => return Err(Ended::Gone(why)),
                Ok(Event::Alone) | Err(_) => return Err(Ended::Alone),
                Ok(Event::Interrupted) => return Err(Ended::Interrupted),
            }
        }
    }
}
