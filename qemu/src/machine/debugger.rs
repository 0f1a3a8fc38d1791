//! Runs gdb at this terminal, connected to the machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

use anyhow::{Context, Result};

use super::GdbStub;
use super::serial::Event;
use crate::image::panic_handler;

/// A gdb that connects to the machine.
#[derive(Clone, Debug)]
pub struct Debugger {
    program: PathBuf,
    arguments: Vec<OsString>,
    socket: PathBuf,
    stub: GdbStub,
}

impl Debugger {
    /// The gdb at `program` for a machine that waits at a `socket`, with the symbols of an image, and a breakpoint at its
    /// panic handler.
    ///
    /// # Errors
    /// When the image cannot be read, or the socket cannot be created.
    pub fn new(program: PathBuf, image: &Path, socket: PathBuf) -> Result<Self> {
        let mut arguments: Vec<OsString> = vec![
            "-quiet".into(),
            image.into(),
            "-ex".into(),
            format!("target remote {}", socket.display()).into(),
            // Nothing stays if this program is killed.
            "-ex".into(),
            format!("shell rm -f '{}'", socket.display()).into(),
        ];
        if let Some(handler) = panic_handler(image)? {
            arguments.extend(["-ex".into(), format!("break {handler}").into()]);
        }
        Ok(Self {
            program,
            arguments,
            stub: GdbStub::at_socket(&socket)?,
            socket,
        })
    }

    /// The stub to which it connects.
    #[must_use]
    pub fn stub(&self) -> GdbStub {
        self.stub.clone()
    }

    /// Starts it, and sends an event when it has ended.
    pub(super) fn start(&self, sender: Sender<Event>) -> Result<()> {
        // Ctrl-C at the terminal is for gdb, which stops the machine; it must not end this program.
        signal_hook::flag::register(
            signal_hook::consts::SIGINT,
            Arc::new(AtomicBool::new(false)),
        )
        .context("cannot pass Ctrl-C to gdb")?;
        let gdb = Command::new(&self.program)
            .args(&self.arguments)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let socket = self.socket.clone();
        std::thread::spawn(move || wait(gdb, &socket, &sender));
        Ok(())
    }
}

fn wait(mut gdb: Child, socket: &Path, sender: &Sender<Event>) {
    let ended = gdb.wait();
    let _ = std::fs::remove_file(socket);
    // Nobody receives it if the boot is over.
    let _ = sender.send(Event::DebuggerEnded(ended));
}
