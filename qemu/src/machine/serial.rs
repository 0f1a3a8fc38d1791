//! The serial line of a machine, in both directions.

use std::fs::File;
use std::io::{IsTerminal, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
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

/// The bytes that QEMU's standard output takes while this program has no time to read: two seconds of what a kernel writes. That is all that
/// Linux lets an ordinary user have of a pipe. QEMU does not wait for room: the kernel sees a line that does not become free.
#[cfg(target_os = "linux")]
const ROOM: usize = 1 << 20;

/// This program's end of a serial line, before there is a machine. The machine's output is QEMU's standard output.
#[derive(Debug)]
pub(super) enum Line {
    /// From the machine only.
    Output,
    /// Both ways.
    Both(PipeWriter),
}

impl Line {
    /// Adds the other end of a serial line to QEMU's command, as character device `serial`: output only, or also input from
    /// standard input, or from this program.
    pub(super) fn connect(command: &mut Command, has_input: bool) -> Result<Self> {
        command.stdout(Stdio::piped());
        if has_input {
            // Two pipes: a pair of sockets takes some hundred writes of one byte, and has no room for the next. `file` cannot read before
            // QEMU 8.2.
            let (theirs, ours) = std::io::pipe().context("cannot create a pipe")?;
            command
                .args(["-chardev", "stdio,id=serial,signal=off"])
                .stdin(theirs);
            return Ok(Self::Both(ours));
        }
        // `file` and not `stdio`, which takes input.
        command
            .args(["-chardev", "file,id=serial,path=/dev/stdout"])
            .stdin(Stdio::null());
        Ok(Self::Output)
    }

    /// Sends events of the line from now on. `output` is the pipe to which the machine writes, which does not run yet. Returns the line's
    /// input, if the line has one, and it is not what is typed at standard input.
    pub(super) fn watch(
        self,
        output: Option<OwnedFd>,
        is_typed: bool,
        sender: Sender<Event>,
    ) -> Result<Option<PipeWriter>> {
        let output = output.context("QEMU was started without a pipe for its standard output")?;
        make_room(&output);
        let output = File::from(output);
        match self {
            Self::Both(input) if is_typed => {
                // Input is passed on only after the machine's first output: earlier input would be lost.
                let (started, starts) = mpsc::channel();
                let leaver = sender.clone();
                in_background(move || {
                    if starts.recv().is_ok() {
                        pass_on(input, &leaver);
                    }
                });
                in_background(move || {
                    read(output, &sender, || {
                        // The receiver is dropped after its first message.
                        let _ = started.send(());
                    });
                });
                Ok(None)
            }
            line => {
                in_background(move || read(output, &sender, || {}));
                Ok(match line {
                    Self::Both(input) => Some(input),
                    Self::Output => None,
                })
            }
        }
    }
}

/// Has a pipe take `ROOM` bytes, or as many as the host allows.
#[cfg(target_os = "linux")]
fn make_room(pipe: &OwnedFd) {
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

    let has = fcntl_getpipe_size(pipe).unwrap_or(ROOM);
    let sizes = std::iter::successors(Some(ROOM), |size| Some(size / 2));
    // An error means that the host's limit, or the user's for all pipes, is lower.
    let _ = sizes
        .take_while(|size| *size > has)
        .find(|size| fcntl_setpipe_size(pipe, *size).is_ok());
}

/// Other hosts have no such system call.
#[cfg(not(target_os = "linux"))]
const fn make_room(_: &OwnedFd) {}

/// Runs work in a thread, because a pipe cannot be read with a timeout.
fn in_background(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

/// Reads until the end.
fn read(mut from: impl Read, sender: &Sender<Event>, each_time: impl Fn()) {
    let mut buffer = [0; 1 << 16];
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
fn pass_on(mut machine: PipeWriter, sender: &Sender<Event>) {
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
