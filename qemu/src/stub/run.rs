//! The machine runs: an instruction, or up to a breakpoint, or until it is stopped.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use anyhow::Result;

use super::client::Stub;

/// How long an instruction may take: one that waits for an interrupt has the machine's time jump to the next.
const STEP: Duration = Duration::from_secs(10);

/// What the stub says of the machine after it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It has stopped: after one instruction, or at a breakpoint.
    Stopped,
    /// It is gone.
    Ended,
    /// It has not stopped within the time.
    StillRuns,
}

impl Stub {
    /// Lets the machine run one instruction; or, if an exception or interrupt is due, up to its vector.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn step(&mut self) -> Result<Ran> {
        self.step_within(STEP)
    }

    /// The same, with a limit of its own.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn step_within(&mut self, limit: Duration) -> Result<Ran> {
        self.run("s", limit)
    }

    /// Lets the machine run, up to a breakpoint.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn go_on(&mut self, limit: Duration) -> Result<Ran> {
        self.run("c", limit)
    }

    fn run(&mut self, packet: &str, limit: Duration) -> Result<Ran> {
        let packet = match self.cpu {
            Some(cpu) => format!("vCont;{packet}:{:x}", cpu + 1),
            None => packet.to_owned(),
        };
        match self.send(&[&packet]) {
            Ok(()) => self.stopped(limit),
            Err(error) => Self::ended(error),
        }
    }

    /// Stops a machine that runs.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn stop(&mut self) -> Result<Ran> {
        // One that has just stopped by itself ignores the byte, and has said so.
        self.stream.write_all(b"\x03")?;
        self.stopped(STEP)
    }

    /// Waits until it has stopped.
    fn stopped(&mut self, limit: Duration) -> Result<Ran> {
        self.limit(Some(limit))?;
        let ran = self.answer();
        self.limit(None)?;
        match ran {
            Ok(Some(answer)) if matches!(answer.first(), Some(b'T' | b'S')) => Ok(Ran::Stopped),
            Ok(_) => Ok(Ran::Ended),
            Err(error) => Self::ended(error),
        }
    }

    /// What an error of the connection says of the machine, if it is none of the connection's own.
    fn ended(error: anyhow::Error) -> Result<Ran> {
        match error.downcast_ref::<std::io::Error>().map(|e| e.kind()) {
            Some(ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(Ran::StillRuns),
            Some(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(Ran::Ended),
            _ => Err(error),
        }
    }
}
