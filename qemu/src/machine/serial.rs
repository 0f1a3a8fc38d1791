//! The serial line of a machine, in both directions.

use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};

use anyhow::{Context, Result};

use super::evidence::Ending;
use super::terminal::LEAVE;

/// Events of a machine that runs.
#[derive(Debug)]
pub(super) enum Event {
    /// The machine has written.
    Written(Vec<u8>),
    /// Nobody writes to the line any more: the machine is ending, unless its line was closed before.
    Closed,
    /// The process that was started has ended.
    Exited,
    /// Somebody at the terminal has pressed the key that ends the session.
    Left,
    /// The debugger that the runner has started has ended.
    DebuggerEnded(std::io::Result<ExitStatus>),
    /// The machine ends, as the monitor says.
    Ending(Ending),
    /// Ctrl-C.
    Interrupted,
}

/// The ends of a serial line, before there is a machine.
#[derive(Debug)]
pub(super) enum Line {
    /// From the machine only.
    Output,
    /// Both ways.
    Both(UnixStream),
}

impl Line {
    /// Adds the other end of a serial line to QEMU's command, as character device `serial`: output only, or also input from
    /// standard input, or from this program.
    pub(super) fn connect(command: &mut Command, has_input: bool) -> Result<Self> {
        if has_input {
            // A socket that QEMU has as its standard input: there is no path that could be too long or left behind, and
            // a `pipe` of QEMU's needs two of them. `file` cannot read before QEMU 8.2.
            let (ours, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
            command
                .args(["-chardev", "socket,id=serial,fd=0"])
                .stdin(OwnedFd::from(theirs))
                .stdout(Stdio::null());
            return Ok(Self::Both(ours));
        }
        // `file` and not `-serial stdio`: QEMU writes to a file synchronously. Bytes written to `stdio` can be lost if the
        // kernel ends the machine right after its last byte.
        command
            .args(["-chardev", "file,id=serial,path=/dev/stdout"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Ok(Self::Output)
    }

    /// Sends events of the line from now on. `output` is the pipe to which the running machine writes. Returns the line's input, if the
    /// line has one, and it is not what is typed at standard input.
    pub(super) fn watch(
        self,
        output: Option<OwnedFd>,
        is_typed: bool,
        sender: Sender<Event>,
    ) -> Result<Option<UnixStream>> {
        match self {
            Self::Output => {
                let output = File::from(output.context("QEMU has no output")?);
                in_background(move || read(output, &sender, || {}));
            }
            Self::Both(stream) if !is_typed => {
                let input = stream.try_clone().context("cannot share a socket")?;
                in_background(move || read(stream, &sender, || {}));
                return Ok(Some(input));
            }
            Self::Both(stream) => {
                let input = stream.try_clone().context("cannot share a socket")?;
                // Input is passed on only after the machine's first output: earlier input would be lost.
                let (started, starts) = mpsc::channel();
                let leaver = sender.clone();
                in_background(move || {
                    if starts.recv().is_ok() {
                        pass_on(input, &leaver);
                    }
                });
                in_background(move || {
                    read(stream, &sender, || {
                        // The receiver is dropped after its first message.
                        let _ = started.send(());
                    });
                });
            }
        }
        Ok(None)
    }
}

/// Runs work in a thread, because a pipe cannot be read with a timeout.
fn in_background(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

/// Reads until the end.
fn read(mut from: impl Read, sender: &Sender<Event>, each_time: impl Fn()) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        each_time();
        if sender
            .send(Event::Written(buffer[..length].to_vec()))
            .is_err()
        {
            return;
        }
    }
    // Nobody receives it if the time has run out.
    let _ = sender.send(Event::Closed);
}

/// Passes on standard input until its end; then presses Ctrl-D.
fn pass_on(mut machine: UnixStream, sender: &Sender<Event>) {
    /// Ctrl-D.
    const END: u8 = 4;
    let mut buffer = [0; 256];
    let mut input = std::io::stdin().lock();
    // Only somebody at a terminal presses a key: a file may contain its byte.
    let has_keys = input.is_terminal();
    while let Ok(length @ 1..) = input.read(&mut buffer) {
        let typed = &buffer[..length];
        if has_keys && typed.contains(&LEAVE) {
            let _ = sender.send(Event::Left);
            return;
        }
        if machine.write_all(typed).is_err() {
            return;
        }
    }
    // Fails only if the machine has ended.
    let _ = machine.write_all(&[END]);
}
