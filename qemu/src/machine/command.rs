//! QEMU's command line.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::Boot;
use super::monitor::Monitor;
use super::serial::Line;
use crate::raspi::{self, Console};

/// Names of the files that a Raspberry Pi's firmware would provide.
const FLAT: &str = "kernel8.img";
const TREE: &str = "dtb";

impl Boot<'_> {
    /// The command that boots, its serial line, and its monitor, which needs the standard input of QEMU and so excludes serial
    /// input.
    pub(super) fn command(
        &self,
        emulator: &std::path::Path,
        files: Option<&TempDir>,
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
            command.arg("-kernel").arg(files.path().join(FLAT));
            command.arg("-dtb").arg(files.path().join(TREE));
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

    /// A flat image and a device tree, in a folder that is deleted when the value is dropped.
    pub(super) fn firmware_files(&self) -> Result<TempDir> {
        let folder = tempfile::tempdir().context("cannot make a folder for a boot's files")?;
        let tree = raspi::device_tree(self.board, self.console)?;
        std::fs::write(folder.path().join(FLAT), raspi::flat(self.image)?)
            .and_then(|()| std::fs::write(folder.path().join(TREE), tree))
            .context("cannot write a boot's files")?;
        Ok(folder)
    }
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
