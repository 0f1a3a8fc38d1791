//! QEMU's command line.

use std::process::{Command, Stdio};

use anyhow::Result;

use super::Boot;
use super::guest_time::GuestTime;
use super::serial::Line;

impl Boot<'_> {
    /// The command that boots, its serial line, and the limit to its own time.
    pub(super) fn command(
        &self,
        emulator: &std::path::Path,
    ) -> Result<(Command, Line, Option<GuestTime>)> {
        let mut command = Command::new(emulator);
        command
            // No devices but those named here, and nobody's configuration file.
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(self.arch.machine())
            .args(["-m", "256M", "-smp", &self.cpus.to_string()])
            .arg("-kernel")
            .arg(self.image)
            .stderr(Stdio::inherit());
        if !self.reboots {
            // A machine that resets itself ends. Without this, a triple fault would boot for ever.
            command.arg("-no-reboot");
        }
        let line = Line::connect(&mut command, self.interactive)?;
        let guest_time = self
            .guest_limit
            .map(|limit| GuestTime::limit(&mut command, limit));
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
        end_with_parent(&mut command);
        Ok((command, line, guest_time.transpose()?))
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
