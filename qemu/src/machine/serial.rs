//! The serial line: what comes from the machine, and what goes to it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Sender};

use anyhow::{Context, Result};

use super::terminal::LEAVE;

/// What happens on the line.
#[derive(Debug)]
pub(super) enum Event {
    /// The machine has written.
    Written(Vec<u8>),
    /// The machine has closed the line: it is ending.
    Closed,
    /// Whoever sits at the terminal has enough.
    Left,
    /// The machine's own time is over.
    GuestTimeOver,
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
    /// Has QEMU use a line: from the machine only, or with standard input at its other end.
    pub(super) fn connect(command: &mut Command, interactive: bool) -> Result<Self> {
        command.args(["-serial", "chardev:serial"]);
        if interactive {
            // A socket that QEMU has as its standard input: there is no path that could be too long or left behind, and
            // a `pipe` of QEMU's needs two of them. `file` cannot read before QEMU 8.2.
            let (ours, theirs) = UnixStream::pair().context("cannot make a pair of sockets")?;
            command
                .args(["-chardev", "socket,id=serial,fd=0"])
                .stdin(OwnedFd::from(theirs))
                .stdout(Stdio::null());
            return Ok(Self::Both(ours));
        }
        // A file rather than `-serial stdio`: QEMU writes to it at once and waits until the bytes are out. What it
        // writes to `stdio` can be lost when the kernel ends the machine right after its last byte.
        command
            .args(["-chardev", "file,id=serial,path=/dev/stdout"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        Ok(Self::Output)
    }

    /// Tells what happens on the line from now on, when the machine runs that writes to `output`.
    pub(super) fn watch(self, output: Option<OwnedFd>, sender: Sender<Event>) -> Result<()> {
        match self {
            Self::Output => {
                let output = File::from(output.context("QEMU has no output")?);
                in_background(move || read(output, &sender, || {}));
            }
            Self::Both(stream) => {
                let input = stream.try_clone().context("cannot share a socket")?;
                // What is typed before the machine listens would be lost, so it waits for the first that it writes.
                let (started, starts) = mpsc::channel();
                let leaver = sender.clone();
                in_background(move || {
                    if starts.recv().is_ok() {
                        pass_on(input, &leaver);
                    }
                });
                in_background(move || {
                    read(stream, &sender, || {
                        // The receiver goes with its first message.
                        let _ = started.send(());
                    });
                });
            }
        }
        Ok(())
    }
}

/// In a thread, because a pipe cannot be read with a time limit.
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
    // Nobody waits for it when the time has run out.
    let _ = sender.send(Event::Closed);
}

/// Passes on standard input until its end, which is the key for that.
fn pass_on(mut machine: UnixStream, sender: &Sender<Event>) {
    /// Ctrl-D.
    const END: u8 = 4;
    let mut buffer = [0; 256];
    let mut input = std::io::stdin().lock();
    while let Ok(length @ 1..) = input.read(&mut buffer) {
        let typed = &buffer[..length];
        if typed.contains(&LEAVE) {
            let _ = sender.send(Event::Left);
            return;
        }
        if machine.write_all(typed).is_err() {
            return;
        }
    }
    // A machine that has ended needs no end.
    let _ = machine.write_all(&[END]);
}
