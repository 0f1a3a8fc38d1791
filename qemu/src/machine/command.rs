//! QEMU's command line.

use std::process::{Command, Stdio};

use super::Boot;

impl Boot<'_> {
    /// The command that boots, with the serial line on its standard output.
    pub(super) fn command(&self, emulator: &std::path::Path) -> Command {
        let mut command = Command::new(emulator);
        command
            // No devices but those named here, and nobody's configuration file.
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(self.arch.machine())
            .args(["-m", "256M", "-smp", &self.cpus.to_string()])
            // A file rather than `-serial stdio`: QEMU writes to it at once and waits until the bytes are out. What it
            // writes to `stdio` can be lost when the kernel ends the machine right after its last byte.
            .args(["-chardev", "file,id=serial,path=/dev/stdout"])
            .args(["-serial", "chardev:serial"])
            .arg("-kernel")
            .arg(self.image)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        if !self.command_line.is_empty() {
            command.args(["-append", self.command_line]);
        }
        if let Some(stub) = &self.gdb {
            command.args(stub.arguments());
        }
        end_with_parent(&mut command);
        command
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
