//! A client of QEMU's stub for gdb: the few packets of gdb's remote protocol that it takes to step, and to read registers and
//! memory.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A connection with the stub.
#[derive(Debug)]
pub struct Stub {
    pub(super) stream: UnixStream,
    buffer: Vec<u8>,
    /// What of the buffer is read already.
    read: usize,
    /// An answer did not come in time. It may come as that to a later question, as answers do not say what was asked.
    is_broken: bool,
    /// The CPU that is asked for registers, and alone runs; all do if there is none.
    pub(super) cpu: Option<usize>,
}

impl Stub {
    /// Connects to the socket of [`GdbStub::at_socket`](crate::machine::GdbStub::at_socket), for single steps.
    ///
    /// # Errors
    /// Returns an error if QEMU has ended, or if the stub does not take the settings.
    pub fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket).context("QEMU's gdb stub was disconnected")?;
        Self::stepping(stream)
    }

    /// Sets up single steps over a connection. Steps take interrupts, and the machine's time continues with them: without these
    /// settings, the stub would mask the interrupts and stop the time.
    ///
    /// # Errors
    /// Returns an error if the stub does not take the settings.
    pub fn stepping(stream: UnixStream) -> Result<Self> {
        let mut stub = Self::over(stream);
        // Bit 0: step. Bits 1 and 2 would mask interrupts and stop timers.
        let answer = stub.ask("Qqemu.sstep=1")?;
        if answer != b"OK" {
            bail!("QEMU's gdb stub cannot single-step with interrupts enabled");
        }
        Ok(stub)
    }

    /// A connection that is there already.
    #[must_use]
    pub const fn over(stream: UnixStream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            read: 0,
            is_broken: false,
            cpu: None,
        }
    }

    /// Limits how long an answer may take.
    ///
    /// # Errors
    /// When the connection has no limits.
    pub fn limit(&self, limit: Option<Duration>) -> Result<()> {
        let limited = self.stream.set_read_timeout(limit);
        limited.context("cannot set a time limit for answers of QEMU's gdb stub")
    }

    /// Asks, and returns the answer.
    ///
    /// # Errors
    /// When the machine is gone, or an answer has not come in time, to this question or to an earlier one.
    pub fn ask(&mut self, question: &str) -> Result<Vec<u8>> {
        self.send(&[question])?;
        self.told()
    }

    /// The next answer. What the stub says by itself when the machine was stopped by others is none.
    fn told(&mut self) -> Result<Vec<u8>> {
        if self.is_broken {
            bail!("QEMU's gdb stub has not answered an earlier request");
        }
        loop {
            let answer = self.answer().inspect_err(|_| self.is_broken = true);
            let answer = answer?.context("the machine has ended")?;
            if answer.first() != Some(&b'T') {
                return Ok(answer);
            }
        }
    }

    /// Asks several things at once, and returns the answers.
    ///
    /// # Errors
    /// When the machine is gone.
    pub fn ask_all(&mut self, questions: &[&str]) -> Result<Vec<Vec<u8>>> {
        self.send(questions)?;
        questions.iter().map(|_| self.told()).collect()
    }

    /// From now on, asks this CPU for its registers, and lets it alone run: the others stand still.
    ///
    /// # Errors
    /// When unknown CPU.
    pub fn choose(&mut self, cpu: usize) -> Result<()> {
        // The stub counts from 1. It keeps two choices: whose registers it tells, and whose stepping ends when it stops.
        let thread = cpu + 1;
        let answers = self.ask_all(&[&format!("Hg{thread:x}"), &format!("Hc{thread:x}")])?;
        if answers.iter().any(|answer| answer != b"OK") {
            bail!("QEMU's gdb stub has no CPU {cpu}");
        }
        self.cpu = Some(cpu);
        Ok(())
    }

    /// Sets a breakpoint, of the kind that changes no memory, or takes it away.
    ///
    /// # Errors
    /// When the stub refuses.
    pub fn breakpoint(&mut self, address: u64, is_set: bool) -> Result<()> {
        let letter = if is_set { 'Z' } else { 'z' };
        let answer = self.ask(&format!("{letter}1,{address:x},1"))?;
        if answer != b"OK" {
            bail!("QEMU refused a breakpoint at {address:#x}");
        }
        Ok(())
    }

    /// A document of the stub's description of the machine.
    ///
    /// # Errors
    /// When there is none with this name.
    pub fn document(&mut self, name: &str) -> Result<String> {
        let mut text = Vec::new();
        loop {
            let at = text.len();
            let part = self.ask(&format!("qXfer:features:read:{name}:{at:x},7f0"))?;
            match part.split_first() {
                Some((b'm', more)) => text.extend_from_slice(more),
                Some((b'l', more)) => {
                    text.extend_from_slice(more);
                    return String::from_utf8(text)
                        .context("the target description is not valid UTF-8");
                }
                _ => bail!("QEMU's gdb stub has no target description {name}"),
            }
        }
    }

    /// Has QEMU's monitor do something.
    ///
    /// # Errors
    /// When it does not.
    pub fn monitor(&mut self, command: &str) -> Result<()> {
        let digits: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.send(&[&format!("qRcmd,{digits}")])?;
        let answer = self.answer()?.context("the machine has ended")?;
        if answer == b"OK" {
            return Ok(());
        }
        // What the monitor prints: nothing, when all is well.
        let text = bytes(answer.strip_prefix(b"O").unwrap_or_default());
        bail!(
            "QEMU's monitor refused the command {command}: {answer}",
            answer = String::from_utf8_lossy(&text).trim()
        );
    }

    /// Ends the machine.
    pub fn kill(&mut self) {
        // A machine that runs stops for any byte, and takes the packet that follows.
        let _ = self.stream.write_all(b"\x03");
        // It answers by ending.
        let _ = self.send(&["k"]);
    }

    /// Sends packets, each with the acknowledgement of the answer before.
    pub(super) fn send(&mut self, packets: &[&str]) -> Result<()> {
        let mut bytes = Vec::new();
        for packet in packets {
            let sum = packet
                .bytes()
                .fold(0_u8, |sum, byte| sum.wrapping_add(byte));
            bytes.extend_from_slice(format!("+${packet}#{sum:02x}").as_bytes());
        }
        Ok(self.stream.write_all(&bytes)?)
    }

    /// The next packet; `None` at the end of the connection.
    pub(super) fn answer(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            let unread = &self.buffer[self.read..];
            let start = unread.iter().position(|byte| *byte == b'$');
            let packet = start.and_then(|start| {
                let length = unread[start..].iter().position(|byte| *byte == b'#')?;
                // Two digits of a checksum follow, which a socket of this host does not need.
                (unread.len() >= start + length + 3).then_some((start + 1, start + length))
            });
            if let Some((start, end)) = packet {
                let packet = unread[start..end].to_vec();
                self.read += end + 3;
                return Ok(Some(packet));
            }
            self.buffer.drain(..self.read);
            self.read = 0;
            let mut more = [0; 4096];
            let count = match self.stream.read(&mut more) {
                // By a signal, such as that of another child's end.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 {
                return Ok(None);
            }
            self.buffer.extend_from_slice(&more[..count]);
        }
    }
}

/// The bytes that hexadecimal digits stand for; a byte that the stub does not know, `xx`, is 0.
#[must_use]
pub fn bytes(digits: &[u8]) -> Vec<u8> {
    let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    let pairs = digits.as_chunks().0.iter();
    pairs
        .map(|[high, low]| value(*high) << 4 | value(*low))
        .collect()
}
