//! QEMU's stub for gdb.

use std::fmt;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::image::panic_handler;
use crate::program::word;

/// What `--gdb` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gdb {
    /// A stub at a TCP port of the local host.
    Port(u16),
    /// gdb itself, at this terminal.
    Run,
}

impl Gdb {
    /// Reads it from a command line.
    ///
    /// # Errors
    /// What it should be.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(port @ 1..) => Ok(Self::Port(port)),
            _ if text == "run" => Ok(Self::Run),
            _ => Err("expected a port from 1 to 65535, or `run`".into()),
        }
    }
}

/// The address of the stub. The machine waits there for gdb before its first instruction.
#[derive(Clone, Debug)]
pub enum GdbStub {
    /// A TCP port of the local host, which every debugger can use.
    Port(u16),
    /// A Unix socket, which cannot collide with other programs.
    Socket(Arc<StubSocket>),
}

/// A Unix socket that exists before QEMU starts, so that a debugger can connect at any time.
#[derive(Debug)]
pub struct StubSocket {
    path: PathBuf,
    /// The listening end, until QEMU inherits it. If QEMU ends, no end is left, and each connection fails at once.
    listener: Mutex<Option<UnixListener>>,
}

impl GdbStub {
    /// A stub at a TCP port, which must be free.
    ///
    /// # Errors
    /// When the port is taken. QEMU's own message would not say what to do about it.
    pub fn at_port(port: u16) -> Result<Self> {
        Self::listen(port).map(|(stub, _)| stub)
    }

    /// The same, and who waits for gdb there.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn listen(port: u16) -> Result<(Self, TcpListener)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| {
            format!("port {port} for gdb is not available; choose another port with --gdb=PORT")
        })?;
        Ok((Self::Port(port), listener))
    }

    /// A stub at a Unix socket with this path.
    ///
    /// # Errors
    /// Returns an error if the socket cannot be created.
    pub fn at_socket(path: &Path) -> Result<Self> {
        // A killed process with the same number may have left a socket.
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path);
        let listener = listener
            .with_context(|| format!("cannot create a socket at {path}", path = path.display()))?;
        Ok(Self::Socket(Arc::new(StubSocket {
            path: path.to_owned(),
            listener: Mutex::new(Some(listener)),
        })))
    }

    /// Adds QEMU's arguments for the stub. Returns the file that QEMU must inherit.
    pub(super) fn arguments(&self, command: &mut Command) -> Result<Option<OwnedFd>> {
        match self {
            Self::Port(port) => {
                command.args(["-gdb", &format!("tcp:127.0.0.1:{port}")]);
                Ok(None)
            }
            Self::Socket(socket) => {
                let mut listener = (socket.listener.lock()).unwrap_or_else(PoisonError::into_inner);
                let listener = listener
                    .take()
                    .context("the socket for QEMU's gdb stub is already in use")?;
                let device = format!(
                    "socket,id=gdb,fd={},server=on,wait=off",
                    listener.as_raw_fd()
                );
                command.args(["-chardev", &device, "-gdb", "chardev:gdb"]);
                Ok(Some(listener.into()))
            }
        }
    }

    /// What to type in another terminal, for gdb to be there.
    #[must_use]
    pub fn connect(&self, image: &Path) -> String {
        let image = word(image);
        format!("gdb-multiarch {image} -ex 'target remote {self}'")
    }

    /// What to type in another terminal, to stop at a panic and see who called whom.
    ///
    /// # Errors
    /// When the image cannot be read.
    pub fn how_to_connect(&self, image: &Path) -> Result<String> {
        let connect = self.connect(image);
        Ok(match panic_handler(image)? {
            Some(handler) => format!("{connect} -ex 'break {handler}' -ex continue -ex backtrace"),
            None => connect,
        })
    }
}

/// What gdb's `target remote` takes.
impl fmt::Display for GdbStub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(f, "localhost:{port}"),
            Self::Socket(socket) => write!(f, "{}", socket.path.display()),
        }
    }
}
