//! QEMU's command line.

use std::process::{Command, Stdio};

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result};
use rustix::io::{FdFlags, fcntl_setfd};

use super::evidence::{OWN_MONITOR, ask_for_writer};
use super::serial::Line;
use super::{Boot, Screen, Stopped, monitor};
use crate::raspi::{self, Console};

/// The files that a Raspberry Pi's firmware would provide. They are in no folder, so that nothing is left behind, whatever ends
/// this process: QEMU inherits them, opened.
pub(super) struct Firmware {
    /// A flat image.
    flat: File,
    /// A device tree.
    tree: File,
}

/// Our ends of the sockets to QEMU.
pub(super) struct Sockets {
    /// To its monitor.
    pub(super) monitor: UnixStream,
    /// To its stub for gdb, once the monitor has started that.
    pub(super) stub: UnixStream,
}

impl Boot<'_> {
    /// The command that boots, its serial line and its sockets.
    pub(super) fn command(
        &self,
        emulator: &std::path::Path,
        files: Option<&Firmware>,
    ) -> Result<(Command, Line, Sockets)> {
        let mut command = Command::new(emulator);
        command.stderr(Stdio::inherit());
        // First: a script takes the first ones for itself.
        match self.given {
            Some(given) => given.arguments(&mut command),
            None => self.arguments(files, &mut command),
        }
        let line = Line::connect(&mut command, self.interactive || self.takes_picture())?;
        if !self.reboots {
            // A reset ends the machine: otherwise a triple fault would boot for ever.
            command.arg("-no-reboot");
        }
        if self.witness.is_some() {
            // A reset, or switching off, leaves the machine as it is, until it was asked where it is.
            command.arg("-no-shutdown");
        }
        if let Some(recorded) = self.recorded {
            command.args(recorded.arguments());
        } else if self.guest_limit.is_some() {
            command.args(monitor::counting(""));
        }
        // Stopped until the monitor is connected, because earlier events are lost.
        command.arg("-S");
        let (ours, theirs) = pair()?;
        ask_for_writer(&ours).context("cannot create the monitor's socket")?;
        let (our_stub, their_stub) = pair()?;
        for (name, end) in [("monitor", &theirs), (Stopped::LINE, &their_stub)] {
            let number = end.as_raw_fd();
            command.args(["-chardev", &format!("socket,id={name},fd={number}")]);
        }
        command.args(["-mon", OWN_MONITOR]);
        let mut inherited = vec![theirs, their_stub];
        if let Some(stub) = &self.gdb {
            inherited.extend(stub.arguments(&mut command)?);
        }
        if self.debugger.is_some() || self.witness.is_some() {
            // A process group of its own, so that Ctrl-C at the terminal reaches only gdb, or this program.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command.args(self.more);
        prepare_child(&mut command, inherited);
        let sockets = Sockets {
            monitor: ours,
            stub: our_stub,
        };
        Ok((command, line, sockets))
    }

    /// Adds what the machine is, and what it boots.
    fn arguments(&self, files: Option<&Firmware>, command: &mut Command) {
        command
            // Only the devices named here, and no configuration file.
            .args(["-nodefaults", "-no-user-config"])
            .args(self.board.arguments())
            .arg("-smp")
            .arg(self.board.fixed_cpus().unwrap_or(self.cpus).to_string());
        match &self.screen {
            Some(screen) => command.args(screen.arguments(self.board)),
            None => command.args(["-display", "none"]),
        };
        if let Some(files) = files {
            command.arg("-kernel").arg(path(&files.flat));
            command.arg("-dtb").arg(path(&files.tree));
            if self.console == Console::MiniUart {
                // The first serial line is the PL011's.
                command.args(["-serial", "null"]);
            }
        } else {
            command.arg("-kernel").arg(self.image);
        }
        if !self.command_line.is_empty() {
            command.args(["-append", self.command_line]);
        }
        command.args(["-serial", "chardev:serial"]);
    }

    /// Whether the runner itself presses keys.
    pub(super) const fn takes_picture(&self) -> bool {
        matches!(self.screen, Some(Screen::Picture(_)))
    }

    /// A flat image and a device tree.
    pub(super) fn firmware_files(&self) -> Result<Firmware> {
        let tree = raspi::device_tree(self.board, self.console)?;
        Ok(Firmware {
            flat: inherited(&raspi::flat(self.image)?)?,
            tree: inherited(&tree)?,
        })
    }
}

/// A file without a name, which is left open in a child.
pub(super) fn inherited(content: &[u8]) -> Result<File> {
    let write = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        file.rewind()?;
        fcntl_setfd(&file, FdFlags::empty())?;
        Ok::<_, std::io::Error>(file)
    };
    write().context("cannot write a temporary file for QEMU")
}

/// What a child calls a file that it inherits.
pub(super) fn path(file: &File) -> String {
    format!("/dev/fd/{}", file.as_raw_fd())
}

/// A pair of sockets: our end and QEMU's.
fn pair() -> Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = UnixStream::pair().context("cannot create a pair of sockets")?;
    Ok((ours, theirs.into()))
}

/// Leaves these files open in the child, and in no other: a socket has an end only when nobody else has it. The command holds
/// them. Makes the host's kernel kill the child when this process dies for any reason: a machine that hangs would otherwise
/// keep a CPU busy for ever.
fn prepare_child(command: &mut Command, files: Vec<OwnedFd>) {
    use std::os::unix::process::CommandExt;

    // SAFETY: between fork and exec only async-signal-safe code may run. The closure makes system calls, `fcntl` and `prctl`, and
    // converts their error numbers without allocation or locks.
    unsafe {
        command.pre_exec(move || {
            for file in &files {
                fcntl_setfd(file, FdFlags::empty())?;
            }
            end_with_parent()
        });
    }
}

#[cfg(target_os = "linux")]
fn end_with_parent() -> std::io::Result<()> {
    use rustix::process::{Signal, set_parent_process_death_signal};

    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Other hosts have no such system call.
#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> std::io::Result<()> {
    Ok(())
}
