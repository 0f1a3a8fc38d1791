//! gdb on a dump: at a port, or started here.

use std::io::ErrorKind;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::remote::{Remote, answer};
use crate::dump::Remains;
use crate::machine::{Gdb, GdbStub};
use crate::outside::Asked;
use crate::status::{Failure, Status};
use crate::words::say;
use crate::{setup, workspace};

/// Answers a gdb until it leaves.
pub(super) fn run(mut dump: Box<dyn Remains>, image: &Path, gdb: Gdb) -> Result<Status, Failure> {
    let asked = Asked::open(image, &mut *dump)?;
    let mut remote = Remote {
        dump,
        arch: asked.arch(),
        moved_by: asked.moved_by(),
    };
    match gdb {
        Gdb::Port(port) => at_port(&mut remote, image, port)?,
        Gdb::Run => here(&mut remote, image)?,
    }
    remote.dump.check()?;
    Ok(Status::Success)
}

fn at_port(remote: &mut Remote, image: &Path, port: u16) -> Result<()> {
    let (stub, listener) = GdbStub::listen(port)?;
    let connect = stub.connect(image);
    say(format_args!(
        "waiting for a connection from gdb; type: {connect} -ex backtrace"
    ));
    let (stream, _) = listener.accept().context("gdb cannot connect")?;
    answer(remote, Box::new(stream))
}

/// Starts gdb at this terminal.
fn here(remote: &mut Remote, image: &Path) -> Result<()> {
    let target = workspace::target_folder_for(image)?;
    let program = setup::program("gdb-multiarch", "gdb-multiarch", &target)?;
    let folder =
        tempfile::tempdir().context("cannot create a temporary folder for gdb's socket")?;
    let socket = folder.path().join("gdb");
    let listener = UnixListener::bind(&socket).context("cannot create a socket for gdb")?;
    // Ctrl-C at the terminal is for gdb; it must not end this program.
    let nothing = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, nothing)
        .context("cannot pass Ctrl-C to gdb")?;
    let mut gdb = Command::new(&program)
        .arg("-quiet")
        .arg(image)
        .args(["-ex", &format!("target remote {}", socket.display())])
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let stream = connected(&listener, &mut gdb)?;
    // Nothing stays if this program is killed.
    folder.close().context("cannot remove gdb's socket")?;
    let answered = answer(remote, Box::new(stream));
    gdb.wait().context("cannot wait for gdb to end")?;
    answered
}

/// Waits until gdb connects; it may end before.
fn connected(listener: &UnixListener, gdb: &mut Child) -> Result<UnixStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error).context("gdb cannot connect"),
        }
        if let Some(status) = gdb.try_wait()? {
            bail!("gdb ended before it connected to the dump: {status}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
