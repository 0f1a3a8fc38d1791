//! Kills programs at the system calls by which they change files: each moment is an event, which no load moves.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Runs a command, and kills it with all that it has started just before change `number` of a file in `folder`, counted from 0.
/// Returns the change, or `None` if the command has ended successfully after fewer changes.
///
/// # Panics
/// If the command fails.
#[expect(
    clippy::zombie_processes,
    reason = "`waitpid` waits for all processes of the group"
)]
pub fn kill_at(command: &mut Command, folder: &Path, number: usize) -> Option<String> {
    let trace = || ptrace::traceme().map_err(Into::into);
    // SAFETY: between fork and exec only async-signal-safe code may run. `trace` makes one system call, and converts its error
    // number without allocation or locks.
    unsafe { command.process_group(0).pre_exec(trace) };
    let child = command.spawn().unwrap_or_else(|error| {
        panic!(
            "{command:?}: {error}; this test runs a program under ptrace, which has to be permitted"
        )
    });
    let first = Pid::from_raw(child.id().cast_signed());
    let group = Pid::from_raw(-first.as_raw());
    let wait = || waitpid(group, Some(WaitPidFlag::__WALL));
    wait().unwrap();
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_EXITKILL
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK;
    ptrace::setoptions(first, options).unwrap();
    ptrace::syscall(first, None).unwrap();
    let mut changes = 0;
    loop {
        let (thread, signal) = match wait().unwrap() {
            WaitStatus::Exited(thread, status) if thread == first => {
                assert_eq!(status, 0, "{command:?}");
                return None;
            }
            WaitStatus::PtraceSyscall(thread) => {
                if let Some(change) = change(thread, folder) {
                    if changes == number {
                        nix::sys::signal::kill(group, Signal::SIGKILL).unwrap();
                        while wait().is_ok() {}
                        return Some(change);
                    }
                    changes += 1;
                }
                (thread, None)
            }
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            // The first stop of a new thread or process, and the stop after `execve`.
            WaitStatus::Stopped(thread, Signal::SIGSTOP | Signal::SIGTRAP) => (thread, None),
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            _ => continue,
        };
        // A thread that is killed meanwhile is gone.
        let _ = ptrace::syscall(thread, signal);
    }
}

/// The change of a file in `folder` that a thread is about to make, if the thread enters a system call that makes one.
fn change(thread: Pid, folder: &Path) -> Option<String> {
    let info = ptrace::syscall_info(thread).ok()?;
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: this part of the union is filled at the entry of a system call.
    let (number, arguments) = unsafe { (info.u.entry.nr, info.u.entry.args) };
    const WRITES: i32 = libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY | libc::O_RDWR;
    let path_at = |at: usize| path(thread, arguments[at]);
    let (name, path) = match number.cast_signed() {
        libc::SYS_openat if arguments[2] as i32 & WRITES != 0 => ("open", path_at(1)),
        libc::SYS_open if arguments[1] as i32 & WRITES != 0 => ("open", path_at(0)),
        libc::SYS_write | libc::SYS_writev => ("write", file(thread, arguments[0])),
        libc::SYS_pwrite64 => ("pwrite", file(thread, arguments[0])),
        libc::SYS_ftruncate => ("truncate", file(thread, arguments[0])),
        libc::SYS_fallocate => ("allocate", file(thread, arguments[0])),
        libc::SYS_rename => ("rename to", path_at(1)),
        libc::SYS_renameat | libc::SYS_renameat2 => ("rename to", path_at(3)),
        libc::SYS_unlink => ("remove", path_at(0)),
        libc::SYS_unlinkat => ("remove", path_at(1)),
        _ => return None,
    };
    let path = folder.join(path?);
    let file = path.strip_prefix(folder).ok()?.to_str()?;
    // The linker writes to a file whose name ends at random.
    let file = file.split_once(".tmp").map_or(file, |(stem, _)| stem);
    Some(format!("{name} {file}"))
}

/// The path at an address of the thread's memory.
fn path(thread: Pid, address: u64) -> Option<PathBuf> {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::FileExt;

    let memory = fs::File::open(format!("/proc/{thread}/mem")).ok()?;
    let mut bytes = [0; 4096];
    let length = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    Some(OsString::from_vec(bytes[..end].to_vec()).into())
}

/// The path of an open file. A pipe has none.
fn file(thread: Pid, number: u64) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{thread}/fd/{number}")).ok()?;
    path.is_absolute().then_some(path)
}
