//! The machine runs: an instruction, or up to a breakpoint, or until it is stopped.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use anyhow::{Result, bail};

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
    /// When the connection fails, or the stub refuses.
    pub fn step(&mut self) -> Result<Ran> {
        self.step_within(STEP)
    }

    /// The same, with a limit of its own.
    ///
    /// # Errors
    /// When the connection fails, or the stub refuses.
    pub fn step_within(&mut self, limit: Duration) -> Result<Ran> {
        self.run("s", limit)
    }

    /// Lets the machine run, up to a breakpoint.
    ///
    /// # Errors
    /// When the connection fails, or the stub refuses.
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
    /// When the connection fails, or the stub refuses.
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
            Ok(Some(answer)) => match answer.first() {
                Some(b'T' | b'S') => Ok(Ran::Stopped),
                Some(b'W' | b'X') => Ok(Ran::Ended),
                // It may run, or stand: neither is known.
                _ => bail!(
                    "QEMU's gdb stub did not start the machine: it answered \"{answer}\"",
                    answer = answer.escape_ascii()
                ),
            },
            Ok(None) => Ok(Ran::Ended),
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    /// What a stub's answer is taken for. `None`: it closes the connection.
    fn ran(answer: Option<&str>) -> Result<Ran> {
        let (ours, mut its) = UnixStream::pair().expect("two sockets");
        if let Some(answer) = answer {
            write!(its, "${answer}#00").expect("it is sent");
        }
        its.shutdown(std::net::Shutdown::Write).expect("it is open");
        Stub::over(ours).go_on(STEP)
    }

    #[test]
    fn only_a_stop_or_an_end_is_taken_for_one() {
        for stop in ["T05thread:01;", "S05"] {
            assert_eq!(ran(Some(stop)).expect("it has stopped"), Ran::Stopped);
        }
        for end in [Some("W00"), Some("X09"), None] {
            assert_eq!(ran(end).expect("it has ended"), Ran::Ended);
        }
        for other in ["E22", "", "OK"] {
            let error = ran(Some(other)).expect_err("neither").to_string();
            assert!(
                error.ends_with(&format!("it answered \"{other}\"")),
                "{error}"
            );
        }
    }
}
