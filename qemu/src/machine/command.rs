//! QEMU's command line.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::Boot;
use super::monitor::Monitor;
use super::serial::Line;
use crate::raspi::{self, Console};

/// Names of the files that stand for what firmware does.
const FLAT: &str = "kernel8.img";
const TREE: &str = "dtb";

impl Boot<'_> {
    /// The command that boots, its serial line, and its monitor, which only a serial line without input leaves room for.
    pub(super) fn command(
        &self,
        emulator: &std::path::Path,
        files: Option<&TempDir>,
    ) -> Result<(Command, Line, Option<Monitor>)> {
        let mut command = Command::new(emulator);
        command
            // No devices but those named here, and nobody's configuration file.
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
            // A machine that resets itself ends. Without this, a triple fault would boot for ever.
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
            // Not reached by Ctrl-C at the terminal, which is for gdb.
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command.args(self.more);
        end_with_parent(&mut command);
        Ok((command, line, monitor.transpose()?))
    }

    /// A flat image and a device tree, in a folder that goes with the value.
    pub(super) fn firmware_files(&self) -> Result<TempDir> {
        let folder = tempfile::tempdir().context("cannot make a folder for a boot's files")?;
        let tree = raspi::device_tree(self.board, self.console)?;
        std::fs::write(folder.path().join(FLAT), raspi::flat(self.image)?)
            .and_then(|()| std::fs::write(folder.path().join(TREE), tree))
            .context("cannot write a boot's files")?;
        Ok(folder)
    }
}

/// Has the kernel of the host end the child when this process dies, however it dies: a machine that hangs would
/// otherwise keep a CPU busy for ever.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Signal, set_parent_process_death_signal};

    // SAFETY: what runs between fork and exec is one system call, which is safe there; it neither allocates nor locks.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

/// Other hosts have no such thing.
#[cfg(not(target_os = "linux"))]
fn end_with_parent(_: &mut Command) {}
