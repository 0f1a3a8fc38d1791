//! QEMU's command line.

use std::process::{Command, Stdio};

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::AsRawFd;

use anyhow::{Context, Result};
use rustix::io::{FdFlags, fcntl_setfd};

use super::Boot;
use super::monitor::Monitor;
use super::serial::Line;
use crate::raspi::{self, Console};

/// The files that a Raspberry Pi's firmware would provide. They are in no folder, so that nothing is left behind, whatever ends
/// this process: QEMU inherits them, opened.
pub(super) struct Firmware {
    /// A flat image.
    flat: File,
    /// A device tree.
    tree: File,
}

impl Boot<'_> {
    /// The command that boots, its serial line, and its monitor, which needs the standard input of QEMU and so excludes serial
    /// input.
    pub(super) fn command(
        &self,
        emulator: &std::path::Path,
        files: Option<&Firmware>,
    ) -> Result<(Command, Line, Option<Monitor>)> {
        let mut command = Command::new(emulator);
        command
            // Only the devices named here, and no configuration file.
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(self.board.arguments())
            .arg("-smp")
            .arg(self.board.fixed_cpus().unwrap_or(self.cpus).to_string())
            .stderr(Stdio::inherit());
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
        if !self.reboots {
            // A reset ends the machine: otherwise a triple fault would boot for ever.
            command.arg("-no-reboot");
        }
        let line = Line::connect(&mut command, self.interactive)?;
        let waits_for_gdb = self.gdb.is_some();
        let monitor = (!self.interactive)
            .then(|| Monitor::connect(&mut command, self.guest_limit, waits_for_gdb));
        if !self.command_line.is_empty() {
            command.args(["-append", self.command_line]);
        }
        if let Some(stub) = &self.gdb {
            command.args(stub.arguments());
        }
        if self.debugger.is_some() {
            // A process group of its own, so that Ctrl-C at the terminal reaches only gdb.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command.args(self.more);
        end_with_parent(&mut command);
        Ok((command, line, monitor.transpose()?))
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
fn inherited(content: &[u8]) -> Result<File> {
    let write = || {
        let mut file = tempfile::tempfile()?;
        file.write_all(content)?;
        file.rewind()?;
        fcntl_setfd(&file, FdFlags::empty())?;
        Ok::<_, std::io::Error>(file)
    };
    write().context("cannot write a boot's files")
}

/// What a child calls a file that it inherits.
fn path(file: &File) -> String {
    format!("/dev/fd/{}", file.as_raw_fd())
}

/// Makes the host's kernel kill the child when this process dies for any reason: a machine that hangs would otherwise keep a
/// CPU busy for ever.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, set_parent_process_death_signal};

    // SAFETY: between fork and exec only async-signal-safe code may run. The closure makes one system call, `prctl`, and
    // converts its error number without allocation or locks.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

/// Other hosts have no such system call.
#[cfg(not(target_os = "linux"))]
fn end_with_parent(_: &mut Command) {}
